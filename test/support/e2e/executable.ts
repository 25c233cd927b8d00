import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";

/** The executable under test: what users get, not the sources. */
export const executablePath = resolve(process.env["SLIPWAY_BINARY"] ?? "dist/slipway");

if (!existsSync(executablePath))
  throw new Error(`Cannot test ${executablePath}: it is not there, run "npm run build" first`);

export interface CallResult {
  readonly exitCode: number | null;
  readonly output: string;
  readonly errorOutput: string;
}

export interface CallOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly input?: string | Uint8Array;
  readonly timeoutMs?: number;
  /** Called through a link of this name. */
  readonly calledAs?: string;
}

/** Only what a clean shell has, so that a variable of the developer's machine cannot decide a test. */
export function cleanEnvironment(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "/root", LANG: "C.UTF-8", ...extra };
}

/** Runs the executable to its end. */
export function call(args: readonly string[], options: CallOptions = {}): Promise<CallResult> {
  return new Promise((done, reject) => {
    const child = spawn(executablePath, [...args], {
      cwd: options.cwd,
      env: cleanEnvironment(options.env),
      stdio: ["pipe", "pipe", "pipe"],
      ...(options.calledAs === undefined ? {} : { argv0: options.calledAs }),
    });
    const output: Buffer[] = [];
    const errorOutput: Buffer[] = [];
    const timer = setTimeout(() => child.kill("SIGKILL"), options.timeoutMs ?? 60_000);
    child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => errorOutput.push(chunk));
    child.stdin.on("error", () => {});
    child.stdin.end(options.input ?? "");
    child.on("error", reject);
    child.on("close", (exitCode) => {
      clearTimeout(timer);
      done({
        exitCode,
        output: Buffer.concat(output).toString("utf8"),
        errorOutput: Buffer.concat(errorOutput).toString("utf8"),
      });
    });
  });
}

export interface RunningServer {
  readonly process: ChildProcess;
  readonly pid: number;
  /** Everything it has said so far, both streams. */
  readonly said: () => string;
  /** Resolves to the first match in what it says; rejects when it ends or the time is up. */
  waitFor(pattern: RegExp, timeoutMs?: number): Promise<RegExpMatchArray>;
  /** Sends the signal to this process only and resolves to its exit code (or the signal's name). */
  stop(signal?: NodeJS.Signals): Promise<number | string>;
}

/** Starts a server of the executable; stop it with the handle, never by name. */
export function startServer(args: readonly string[], options: CallOptions = {}): RunningServer {
  const child = spawn(executablePath, [...args], {
    cwd: options.cwd,
    env: cleanEnvironment(options.env),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  const listeners = new Set<() => void>();
  const hear = (chunk: Buffer): void => {
    said += chunk.toString("utf8");
    for (const listener of [...listeners]) listener();
  };
  child.stdout?.on("data", hear);
  child.stderr?.on("data", hear);
  const ended = new Promise<number | string>((resolveEnd) => {
    child.on("exit", (code, signal) => {
      resolveEnd(code ?? signal ?? -1);
      for (const listener of [...listeners]) listener();
    });
  });
  return {
    process: child,
    pid: child.pid ?? -1,
    said: () => said,
    waitFor(pattern, timeoutMs = 30_000) {
      return new Promise((found, reject) => {
        const finish = (action: () => void): void => {
          clearTimeout(timer);
          listeners.delete(look);
          action();
        };
        const look = (): void => {
          const match = said.match(pattern);
          if (match) finish(() => found(match));
          else if (child.exitCode !== null || child.signalCode !== null) {
            finish(() => reject(new Error(`it ended before it said ${pattern}:\n${said}`)));
          }
        };
        const timer = setTimeout(
          () => finish(() => reject(new Error(`it did not say ${pattern} in ${timeoutMs} ms:\n${said}`))),
          timeoutMs,
        );
        listeners.add(look);
        look();
      });
    },
    async stop(signal = "SIGTERM") {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return ended;
    },
  };
}
