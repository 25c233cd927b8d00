/** The command line was wrong; the message says how. */
export class UsageError extends Error {
  /** Words of the command that was reached, as they are typed. */
  readonly commandPath: string;

  constructor(message: string, commandPath: string) {
    super(message);
    this.name = "UsageError";
    this.commandPath = commandPath;
  }
}
