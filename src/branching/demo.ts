import postgres from "postgres";
import { randomBase62, systemRandom } from "../platform/random/random.ts";
import { systemClock } from "../platform/time/clock.ts";
import { demoImage, startDemoSource } from "./drivers/docker/demo-source.ts";
import { resolveDockerEndpoint } from "./drivers/docker/docker-endpoint.ts";
import type { Daemon } from "./start-daemon.ts";

export interface DemoOptions {
  readonly daemon: Daemon;
  readonly token: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  readonly say: (line: string) => void;
}

const sourceName = "demo-shop";
const branchName = "demo-pr-7";
const rowCount = 100_000;
const passwordLength = 24;

/** A database of its own is seeded, branched and written to through the router; the database does not notice. */
export async function runBranchDemo(options: DemoOptions): Promise<void> {
  const { environment, userHome, say } = options;
  const password = randomBase62(systemRandom, passwordLength);
  const source = await startDemoSource(resolveDockerEndpoint(environment, userHome), password);
  if (source === undefined) {
    say(`left out: the engine has no image ${demoImage} (docker pull ${demoImage})`);
    return;
  }
  await using running = source;
  const api = createApi(options);
  await api("DELETE", `/v1/branches/${branchName}`).catch(() => {});
  await api("DELETE", `/v1/sources/${sourceName}`).catch(() => {});
  await withDatabase({ host: running.host, port: 5432, database: "postgres", password }, async (sql) => {
    await sql`CREATE TABLE orders AS SELECT n AS id, md5(n::text) AS note FROM generate_series(1, ${rowCount}::int) n`;
    const seededMs = await timed(() => api("POST", "/v1/sources", { name: sourceName, host: running.host, password }));
    say(`seeded ${sourceName} from a Postgres with ${rowCount} orders in ${seededMs} ms, once`);
    const createdMs = await timed(() => api("POST", "/v1/branches", { name: branchName, source: sourceName }));
    say(`created branch ${branchName} in ${createdMs} ms`);
    const [host, port] = splitAddress(options.daemon.routerAddress);
    const database = `postgres@${branchName}`;
    await withDatabase({ host, port, database, password }, async (branch) => {
      await branch`DELETE FROM orders WHERE id > 10`;
      say(`deleted all but ${await countOrders(branch)} orders in the branch, through the router`);
    });
    say(`the source still has ${await countOrders(sql)} orders`);
  });
  const destroyedMs = await timed(() => api("DELETE", `/v1/branches/${branchName}`));
  await api("DELETE", `/v1/sources/${sourceName}`);
  say(`destroyed the branch in ${destroyedMs} ms`);
}

interface Target {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly password: string;
}

async function withDatabase(target: Target, work: (sql: postgres.Sql) => Promise<void>): Promise<void> {
  const sql = postgres({ ...target, username: "postgres", max: 1, fetch_types: false, onnotice: () => {} });
  try {
    await work(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function countOrders(sql: postgres.Sql): Promise<string> {
  const [row] = await sql`SELECT count(*) AS count FROM orders`;
  return String(row?.["count"]);
}

type CallApi = (method: string, path: string, body?: object) => Promise<void>;

function createApi({ daemon, token }: DemoOptions): CallApi {
  return async (method, path, body) => {
    const response = await fetch(daemon.apiUrl + path, {
      method,
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  };
}

async function timed(action: () => Promise<void>): Promise<number> {
  const startMs = systemClock.monotonicMs();
  await action();
  return Math.round(systemClock.monotonicMs() - startMs);
}

function splitAddress(address: string): readonly [string, number] {
  const colon = address.lastIndexOf(":");
  const host = address.slice(0, colon).replace(/^\[|\]$/g, "");
  return [host === "" ? "127.0.0.1" : host, Number(address.slice(colon + 1))];
}
