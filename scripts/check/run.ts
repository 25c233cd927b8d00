import { spawn } from "node:child_process";
import { delimiter, resolve } from "node:path";

export interface StepResult {
  readonly name: string;
  readonly isOk: boolean;
  readonly seconds: number;
}

const environment = { ...process.env, PATH: `${resolve("node_modules/.bin")}${delimiter}${process.env["PATH"] ?? ""}` };

/** Runs a command with its output on ours; resolves to its exit code. */
export function run(
  command: string,
  args: readonly string[],
  extra: Readonly<Record<string, string>> = {},
): Promise<number> {
  return new Promise((done, reject) => {
    const child = spawn(command, [...args], {
      stdio: ["ignore", "inherit", "inherit"],
      env: { ...environment, ...extra },
    });
    child.on("error", reject);
    child.on("exit", (code, signal) => done(code ?? (signal === null ? 1 : 128)));
  });
}

/** Runs a command and keeps quiet unless it fails. */
export function runQuietly(command: string, args: readonly string[]): Promise<{ code: number; output: string }> {
  return new Promise((done, reject) => {
    const child = spawn(command, [...args], { stdio: ["ignore", "pipe", "pipe"], env: environment });
    const chunks: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.on("error", reject);
    child.on("close", (code) => done({ code: code ?? 1, output: Buffer.concat(chunks).toString("utf8") }));
  });
}

export async function step(name: string, action: () => Promise<number>): Promise<StepResult> {
  const startMs = performance.now();
  const code = await action();
  const seconds = (performance.now() - startMs) / 1000;
  console.error(`${code === 0 ? "ok  " : "FAIL"} ${name} (${seconds.toFixed(1)} s)`);
  return { name, isOk: code === 0, seconds };
}
