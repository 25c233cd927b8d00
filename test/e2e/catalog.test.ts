import t from "tap";
import { sleep } from "../../src/platform/time/clock.ts";
import { buildEmptyRootImage, docker, tryDocker } from "../support/e2e/docker.ts";
import { findFreePort, startPostgres } from "../support/postgres-server.ts";
import { startRedis } from "../support/redis-server.ts";

/** Status of a path, 0 when nobody answers. */
async function statusOf(url: string): Promise<number> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5000) });
    await response.text();
    return response.status;
  } catch {
    return 0;
  }
}

async function untilStatus(url: string, status: number, timeoutMs = 10_000): Promise<number> {
  const startMs = performance.now();
  while (performance.now() - startMs < timeoutMs) {
    if ((await statusOf(url)) === status) return performance.now() - startMs;
    await sleep(50);
  }
  throw new Error(`${url} did not answer ${status} in ${timeoutMs} ms`);
}

t.test("catalog runs as PID 1, UID 65532, and reports a database and a cache going up and down", async (t) => {
  const image = buildEmptyRootImage();
  t.teardown(() => tryDocker("rmi", "-f", image));
  await using postgres = await startPostgres();
  await using redis = await startRedis();
  const port = await findFreePort();
  const variables = [`PORT=${port}`, `DB_DSN=${postgres.url}`, `REDIS_ADDR=127.0.0.1:${redis.port}`];
  const container = docker(
    ...["run", "-d", "--network", "host", "--read-only", "--cap-drop", "ALL"],
    ...variables.flatMap((variable) => ["-e", variable]),
    ...[image, "catalog"],
  );
  t.teardown(() => tryDocker("rm", "-f", "-v", container));
  const base = `http://127.0.0.1:${port}`;
  await untilStatus(`${base}/readyz`, 200);

  const [pid, uid] = docker("top", container, "-o", "pid,uid").split("\n")[1]?.trim().split(/\s+/) ?? [];
  t.equal(uid, "65532");
  t.equal(docker("inspect", "--format", "{{.State.Pid}}", container), pid, "it is the container's first process");
  t.equal(docker("top", container, "-o", "pid").split("\n").length, 2, "and its only one");

  const books = (await (await fetch(`${base}/books`)).json()) as unknown[];
  t.ok(Array.isArray(books) && books.length > 0);
  t.strictSame(await (await fetch(`${base}/healthz`)).json(), { status: "ok" });
  t.strictSame(await (await fetch(`${base}/readyz`)).json(), { status: "ready" });
  t.match(await (await fetch(`${base}/metrics`)).text(), /^catalog_http_requests_total\{/m);

  for (const dependency of [postgres, redis]) {
    await dependency.stop();
    await untilStatus(`${base}/readyz`, 503);
    t.equal(await statusOf(`${base}/healthz`), 200, "alive while a dependency is away");
    await dependency.start();
    await untilStatus(`${base}/readyz`, 200);
  }

  const startMs = performance.now();
  docker("stop", "--time", "20", container);
  t.ok(performance.now() - startMs < 15_000, "drained within its 15 s");
  t.equal(docker("inspect", "--format", "{{.State.ExitCode}}", container), "0");
  const log = tryDocker("logs", container).output;
  t.match(log, /shutdown.complete/i);
  t.notMatch(log, postgres.url, "no connection string in the log");
});
