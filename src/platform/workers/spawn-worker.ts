import { Worker, type WorkerOptions } from "node:worker_threads";
import { isPacked, readAsset } from "../assets/assets.ts";

/**
 * Starts a worker thread from `src/workers/<name>.ts`. Inside the executable there are no files to load from: the build
 * embeds each worker as one bundled script, which is evaluated from memory (start about 40 ms).
 */
export function spawnWorker(name: string, options: WorkerOptions = {}): Worker {
  if (isPacked) return new Worker(readAsset(`workers/${name}.cjs`).toString("utf8"), { ...options, eval: true, name });
  return new Worker(new URL(`../../workers/${name}.ts`, import.meta.url), { ...options, name });
}
