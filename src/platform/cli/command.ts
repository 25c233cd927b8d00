/**
 * A command is data plus a handler. The table in `src/commands.ts` maps names to lazily loaded commands; `run-cli.ts`
 * turns the data into a parser, help text and completion. Handlers never touch the process: everything they need
 * comes in the context, and the exit code goes out as their result.
 */
export interface Terminal {
  readonly isTty: boolean;
  readonly isErrorTty: boolean;
  readonly hasColor: boolean;
  readonly columns: number;
  /** Standard output: results only. Resolves when the text is handed over (back-pressure). */
  write(text: string): void | Promise<void>;
  /** Standard error: progress, notes, errors. */
  writeError(text: string): void;
  /** Standard input as bytes; ends at end of file. */
  readInput(): AsyncIterable<Uint8Array>;
  readonly isInputTty: boolean;
}

export interface CommandContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly homeDir: string;
  readonly terminal: Terminal;
  /** Aborted on SIGINT and SIGTERM; a second signal ends the process at once. */
  readonly signal: AbortSignal;
  /** The version of this executable, without a leading `v`. */
  readonly version: string;
}

/** One setting as it would hold, for people. */
export interface ConfigRow {
  readonly name: string;
  readonly value: string;
  readonly source: "flag" | "environment" | "file" | "default" | "unset";
}

export type OptionKind = "string" | "integer" | "boolean";

export interface OptionSpec {
  readonly kind: OptionKind;
  readonly description: string;
  readonly alias?: string;
  readonly isRepeatable?: boolean;
  readonly isRequired?: boolean;
  readonly choices?: readonly string[];
  readonly default?: string | number | boolean;
  /** Shown in help instead of the kind: `--output FILE`. */
  readonly valueName?: string;
  readonly isHidden?: boolean;
  readonly conflictsWith?: readonly string[];
}

export interface PositionalSpec {
  readonly name: string;
  readonly description: string;
  readonly isRequired?: boolean;
  readonly isVariadic?: boolean;
  readonly choices?: readonly string[];
}

export interface CommandExample {
  readonly command: string;
  readonly description: string;
}

/** Parsed arguments by option or positional name, in kebab-case as declared. */
export class ParsedArguments {
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = values;
  }

  string(name: string): string | undefined {
    const value = this.#values[name];
    return value === undefined ? undefined : String(value);
  }

  /** For required options and positionals: the parser has made sure that they are there. */
  requiredString(name: string): string {
    const value = this.string(name);
    if (value === undefined) throw new TypeError(`argument "${name}" is read but not declared as required`);
    return value;
  }

  integer(name: string): number | undefined {
    const value = this.#values[name];
    return value === undefined ? undefined : Number(value);
  }

  boolean(name: string): boolean {
    return this.#values[name] === true;
  }

  /** Undefined when the flag was not given at all, so that a default from elsewhere can hold. */
  optionalBoolean(name: string): boolean | undefined {
    const value = this.#values[name];
    return typeof value === "boolean" ? value : undefined;
  }

  strings(name: string): readonly string[] {
    const value = this.#values[name];
    if (value === undefined) return [];
    return Array.isArray(value) ? value.map(String) : [String(value)];
  }
}

export interface Command {
  readonly name: string;
  readonly summary: string;
  /** More than the summary, shown in the command's own help. */
  readonly description?: string;
  readonly aliases?: readonly string[];
  readonly options?: Readonly<Record<string, OptionSpec>>;
  readonly positionals?: readonly PositionalSpec[];
  readonly examples?: readonly CommandExample[];
  /** Exit codes beyond 0 and 1, shown in help. */
  readonly exitCodes?: Readonly<Record<number, string>>;
  readonly subcommands?: readonly Command[];
  /** Exit code for a wrong command line instead of 64; holds for the subcommands too. */
  readonly usageExitCode?: number;
  /** Exit code for every failure instead of the one of its error kind; holds for the subcommands too. */
  readonly failureExitCode?: number;
  /**
   * The configuration this command would run with, for `slipway config check`; secrets are not shown.
   *
   * @param flags options behind the command, as parsed
   * @throws ConfigError with every problem
   */
  readonly effectiveConfig?: (
    flags: Readonly<Record<string, unknown>>,
    context: CommandContext,
  ) => readonly ConfigRow[];
  /** Absent on a pure group such as `bsctl branch`. Resolves to the exit code. */
  run?(args: ParsedArguments, context: CommandContext): Promise<number>;
}
