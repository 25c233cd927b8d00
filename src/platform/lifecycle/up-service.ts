import type { CommandContext } from "../cli/command.ts";
import type { Logger } from "../log/logger.ts";

/** What `slipway up` needs of a feature: start with embedded defaults on loopback, say where it listens, show itself. */
export interface UpService {
  readonly name: string;
  start(options: UpOptions): Promise<RunningService | SkippedService>;
}

export interface UpOptions {
  readonly context: CommandContext;
  /** The feature's own folder below the data folder of `up`. */
  readonly dataDir: string;
  readonly logger: Logger;
  /** Where to listen: the default port on loopback, or any free one when the user asked for free ports. */
  readonly addressFor: (defaultPort: number) => string;
}

export interface Endpoint {
  readonly label: string;
  /** URL or address, as a person would paste it. */
  readonly address: string;
}

export interface RunningService {
  readonly kind: "running";
  readonly endpoints: readonly Endpoint[];
  /** First commands to try, ready to paste. */
  readonly firstCommands: readonly string[];
  /** Feeds real sample input through the running service and says what came out, a line at a time. */
  readonly demo?: (say: (line: string) => void) => Promise<void>;
  close(): Promise<void>;
}

export interface SkippedService {
  readonly kind: "skipped";
  /** Why it does not run here, and what would make it run. */
  readonly reason: string;
}
