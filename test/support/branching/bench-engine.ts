/** An engine as a library on a home of its own, for measurements: no process start in the figures. */
import Docker from "dockerode";
import postgres from "postgres";
import { engineSchema } from "../../../src/branching/config.ts";
import { openEngine } from "../../../src/branching/open-engine.ts";
import type { BranchingEngine } from "../../../src/branching/service/engine.ts";
import { loadConfig } from "../../../src/platform/config/load-config.ts";
import { silentLogger } from "../../../src/platform/log/logger.ts";
import { sleep } from "../../../src/platform/time/clock.ts";
import { LocalBench, sourcePassword } from "./local-bench.ts";

export const bareDocker = new Docker();

export interface BenchEngine extends AsyncDisposable {
  readonly engine: BranchingEngine;
  readonly caller: { readonly actor: string; readonly signal: AbortSignal };
}

export async function openBenchEngine(environment: Readonly<Record<string, string>>): Promise<BenchEngine> {
  const bench = new LocalBench();
  const config = loadConfig({ schema: engineSchema, prefixes: [] }, { environment, readFile: () => "" });
  const engine = await openEngine({
    config,
    homeFolder: bench.home,
    environment: process.env,
    userHome: "/nonexistent",
    logger: silentLogger,
  });
  return {
    engine,
    caller: { actor: "bench", signal: new AbortController().signal },
    [Symbol.asyncDispose]: async () => {
      for (const branch of await engine.listBranches()) {
        await engine.destroyBranch(branch.name, { actor: "bench", signal: new AbortController().signal });
      }
      await engine.close();
      await bench[Symbol.asyncDispose]();
    },
  };
}

export function urlOf(port: number): string {
  return `postgres://postgres:${encodeURIComponent(sourcePassword)}@127.0.0.1:${port}/postgres`;
}

/** Resolves when a query is answered; tries again at once until then. */
export async function untilAnswered(port: number): Promise<void> {
  for (;;) {
    const client = postgres(urlOf(port), { max: 1, connect_timeout: 5, onnotice: () => {} });
    try {
      await client`SELECT 1`;
      return;
    } catch {
      await sleep(10);
    } finally {
      await client.end({ timeout: 0 });
    }
  }
}

export async function querySql(port: number, text: string): Promise<void> {
  const client = postgres(urlOf(port), { max: 1, onnotice: () => {} });
  try {
    await client.unsafe(text);
  } finally {
    await client.end({ timeout: 1 });
  }
}

/** The longest time without an answer to `SELECT 1`, asked all the time while the work runs, and failed questions. */
export async function measureInterruption(
  port: number,
  work: () => Promise<unknown>,
): Promise<{ readonly gapMs: number; readonly errors: number }> {
  let client = postgres(urlOf(port), { max: 1, connect_timeout: 5, onnotice: () => {} });
  await client`SELECT 1`;
  let isDone = false;
  let errors = 0;
  let gapMs = 0;
  const asking = (async () => {
    let lastMs = performance.now();
    while (!isDone) {
      try {
        await client`SELECT 1`;
        gapMs = Math.max(gapMs, performance.now() - lastMs);
        lastMs = performance.now();
        await sleep(2);
      } catch {
        errors++;
        await client.end({ timeout: 0 });
        client = postgres(urlOf(port), { max: 1, connect_timeout: 5, onnotice: () => {} });
        await sleep(5);
      }
    }
  })();
  await work();
  isDone = true;
  await asking;
  await client.end({ timeout: 0 });
  return { gapMs, errors };
}

/** The contents of the table `words`. */
export async function readWords(port: number): Promise<readonly string[]> {
  const client = postgres(urlOf(port), { max: 1, onnotice: () => {} });
  try {
    const rows = await client<{ word: string }[]>`SELECT word FROM words`;
    return rows.map((row) => row.word);
  } finally {
    await client.end({ timeout: 1 });
  }
}
