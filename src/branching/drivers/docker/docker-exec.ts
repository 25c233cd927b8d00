import type { Duplex } from "node:stream";
import type Docker from "dockerode";
import { sleep } from "../../../platform/time/clock.ts";
import { branchingError } from "../../errors.ts";
import type { ExecResult, ExecSession, ExecSpec } from "../../service/ports.ts";
import { toRuntimeError } from "./docker-errors.ts";
import { LineSplitter, StreamDemuxer, TailBuffer } from "./exec-stream.ts";

const outputBytesDefault = 1024 * 1024;
const errorBytesKept = 16 * 1024;
const answerTimeoutMs = 30_000;

/** Runs a program in a container to its end; both outputs are bounded, and so is the time. */
export async function runExec(container: Docker.Container, spec: ExecSpec, signal: AbortSignal): Promise<ExecResult> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(spec.timeoutMs)]);
  try {
    limit.throwIfAborted();
    const { exec, stream } = await openExec(container, spec, limit);
    const output = await collect(stream, spec, limit);
    return { exitCode: await readExitCode(exec, limit), ...output };
  } catch (error) {
    if (signal.aborted || !limit.aborted || error !== limit.reason) throw toRuntimeError(`run ${spec.argv[0]}`, error);
    throw branchingError(
      "runtime_failed",
      `Cannot run ${spec.argv[0]}: it did not end within ${spec.timeoutMs / 1000} s`,
    );
  }
}

async function openExec(
  container: Docker.Container,
  spec: Pick<ExecSpec, "argv" | "user" | "environment">,
  signal: AbortSignal,
): Promise<{ exec: Docker.Exec; stream: Duplex }> {
  const action = `run ${spec.argv[0]}`;
  const exec = await answerOf(action, signal, (limit) =>
    container.exec({
      Cmd: [...spec.argv],
      AttachStdin: true,
      AttachStdout: true,
      AttachStderr: true,
      Tty: false,
      User: spec.user ?? "0:0",
      Env: Object.entries(spec.environment ?? {}).map(([name, value]) => `${name}=${value}`),
      abortSignal: limit,
    }),
  );
  const stream = await answerOf(action, signal, () => exec.start({ hijack: true, stdin: true, Tty: false }));
  return { exec, stream };
}

/** The program may take its time, the engine's answer to one request may not. */
async function answerOf<T>(action: string, signal: AbortSignal, ask: (limit: AbortSignal) => Promise<T>): Promise<T> {
  const timeout = AbortSignal.timeout(answerTimeoutMs);
  const limit = AbortSignal.any([signal, timeout]);
  try {
    return await raceAbort(ask(limit), limit);
  } catch (error) {
    if (signal.aborted) throw error;
    if (!timeout.aborted) throw toRuntimeError(action, error);
    const text = `Cannot ${action}: the Docker engine did not answer within ${answerTimeoutMs / 1000} s`;
    throw branchingError("runtime_unreachable", text, { cause: error });
  }
}

function collect(stream: Duplex, spec: ExecSpec, signal: AbortSignal): Promise<Omit<ExecResult, "exitCode">> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    const errors = new TailBuffer(errorBytesKept);
    const lines = spec.onErrorLine && new LineSplitter((line) => spec.onErrorLine?.(line));
    const bytesMax = spec.outputBytesMax ?? outputBytesDefault;
    let size = 0;
    const onAbort = (): void => fail(signal.reason);
    const fail = (error: unknown): void => {
      signal.removeEventListener("abort", onAbort);
      stream.destroy();
      reject(error);
    };
    const demuxer = new StreamDemuxer({
      onOutput: (piece) => {
        size += piece.length;
        pieces.push(piece);
        if (size > bytesMax)
          fail(branchingError("runtime_failed", `Cannot run ${spec.argv[0]}: it wrote more than ${bytesMax} bytes`));
      },
      onError: (piece) => {
        errors.push(piece);
        lines?.push(piece);
      },
    });
    signal.addEventListener("abort", onAbort, { once: true });
    stream.on("data", (chunk: Buffer) => demuxer.push(chunk));
    stream.on("error", fail);
    stream.on("end", () => {
      signal.removeEventListener("abort", onAbort);
      stream.destroy();
      if (!demuxer.isAtBoundary) {
        reject(branchingError("runtime_failed", `Cannot run ${spec.argv[0]}: the connection to it was cut`));
        return;
      }
      resolve({ stdout: Buffer.concat(pieces), stderr: errors.toString() });
    });
    stream.end(spec.input === undefined ? undefined : Buffer.from(spec.input));
  });
}

/** The engine ends the stream a moment before it knows the exit code. */
async function readExitCode(exec: Docker.Exec, signal: AbortSignal): Promise<number> {
  for (;;) {
    const state = await answerOf("learn an exit code", signal, () => exec.inspect());
    if (!state.Running && state.ExitCode !== null) return state.ExitCode;
    await sleep(5, signal);
  }
}

/** Starts a program that is talked to line by line. */
export async function openExecSession(
  container: Docker.Container,
  argv: readonly string[],
  signal: AbortSignal,
): Promise<ExecSession> {
  const { stream } = await openExec(container, { argv }, signal);
  const lines: string[] = [];
  const waiting: { resolve: (line: string) => void; reject: (error: unknown) => void }[] = [];
  const errors = new TailBuffer(errorBytesKept);
  let ended: Error | undefined;
  const splitter = new LineSplitter((line) => {
    const next = waiting.shift();
    if (next) next.resolve(line);
    else lines.push(line);
  });
  const demuxer = new StreamDemuxer({
    onOutput: (piece) => splitter.push(piece),
    onError: (piece) => errors.push(piece),
  });
  const end = (): void => {
    ended ??= branchingError("runtime_failed", `Cannot go on with ${argv[0]}: it ended: ${errors.toString().trim()}`);
    for (const next of waiting.splice(0)) next.reject(ended);
  };
  stream.on("data", (chunk: Buffer) => demuxer.push(chunk));
  stream.on("end", end);
  stream.on("error", end);
  stream.on("close", end);
  return {
    send: (text) => {
      stream.write(text);
    },
    nextLine: () => {
      const line = lines.shift();
      if (line !== undefined) return Promise.resolve(line);
      if (ended) return Promise.reject(ended);
      const pending = new Promise<string>((resolve, reject) => {
        waiting.push({ resolve, reject });
      });
      return raceAbort(pending, signal);
    },
    close: () => {
      stream.end();
      stream.destroy();
    },
  };
}

function raceAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(
      (value) => {
        signal.removeEventListener("abort", onAbort);
        resolve(value);
      },
      (error: unknown) => {
        signal.removeEventListener("abort", onAbort);
        reject(error);
      },
    );
  });
}
