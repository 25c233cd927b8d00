import { homedir } from "node:os";
import type { CommandContext, Terminal } from "./command.ts";

/** The real terminal: this folder and `lifecycle` are the only ones that touch the process and its streams. */
export function createProcessTerminal(): Terminal {
  const { stdout, stderr, stdin, env } = process;
  const isColorWanted = env["FORCE_COLOR"] !== undefined && env["FORCE_COLOR"] !== "0";
  const isColorRefused = (env["NO_COLOR"] ?? "") !== "" || env["TERM"] === "dumb";
  return {
    isTty: stdout.isTTY === true,
    isErrorTty: stderr.isTTY === true,
    isInputTty: stdin.isTTY === true,
    hasColor: !isColorRefused && (stdout.isTTY === true || isColorWanted),
    columns: stdout.columns ?? 100,
    write: (text) =>
      stdout.write(text) ? undefined : new Promise<void>((resolve) => stdout.once("drain", () => resolve())),
    writeError: (text) => {
      stderr.write(text);
    },
    readInput: () => stdin,
  };
}

export function createProcessContext(signal: AbortSignal, version: string): CommandContext {
  return {
    env: process.env,
    cwd: process.cwd(),
    homeDir: homedir(),
    terminal: createProcessTerminal(),
    signal,
    version,
  };
}

/** A reader that has seen enough (`slipway … | head`) ends the process quietly, as other tools do. */
export function endQuietlyOnClosedPipe(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
}
