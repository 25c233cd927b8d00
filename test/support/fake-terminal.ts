import { homedir } from "node:os";
import type { CommandContext, Terminal } from "../../src/platform/cli/command.ts";

export interface FakeTerminal extends Terminal {
  readonly output: () => string;
  readonly errorOutput: () => string;
}

export interface FakeTerminalOptions {
  readonly isTty?: boolean;
  readonly input?: readonly (string | Uint8Array)[];
  readonly columns?: number;
}

/** A terminal that keeps what is written to it. */
export function createFakeTerminal(options: FakeTerminalOptions = {}): FakeTerminal {
  const isTty = options.isTty ?? false;
  let output = "";
  let errorOutput = "";
  return {
    isTty,
    isErrorTty: isTty,
    isInputTty: options.input === undefined,
    hasColor: isTty,
    columns: options.columns ?? 100,
    write: (text) => {
      output += text;
    },
    writeError: (text) => {
      errorOutput += text;
    },
    readInput: async function* () {
      for (const chunk of options.input ?? []) yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    },
    output: () => output,
    errorOutput: () => errorOutput,
  };
}

export interface FakeContextOptions {
  readonly terminal?: Terminal;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly homeDir?: string;
  readonly signal?: AbortSignal;
}

export function createFakeContext(options: FakeContextOptions = {}): CommandContext {
  return {
    terminal: options.terminal ?? createFakeTerminal(),
    env: options.env ?? {},
    cwd: options.cwd ?? process.cwd(),
    homeDir: options.homeDir ?? homedir(),
    signal: options.signal ?? new AbortController().signal,
    version: "0.0.0-test",
  };
}
