import postgres from "postgres";

export interface PostgresTarget {
  readonly url: string;
  readonly maxConnections?: number;
  /** How long one connection attempt may take. */
  readonly connectTimeoutMs?: number;
}

export type PostgresClient = ReturnType<typeof createPostgresClient>;

export const defaultPostgresConnections = 10;
export const defaultPostgresConnectTimeoutMs = 5000;

/** A server that is back must not be waited for: the library's own delay grows to many seconds. */
const reconnectDelaySeconds = 0.25;

/** 64-bit integers are read as numbers, as SQLite reads them; one that does not fit is an error, not a wrong number. */
const int8 = {
  to: 20,
  from: [20],
  serialize: (value: number | bigint) => value.toString(),
  parse: (text: string): number => {
    const value = Number(text);
    if (!Number.isSafeInteger(value)) throw new RangeError(`integer ${text} does not fit into a number`);
    return value;
  },
};

export function createPostgresClient(target: PostgresTarget) {
  return postgres(target.url, {
    max: target.maxConnections ?? defaultPostgresConnections,
    connect_timeout: (target.connectTimeoutMs ?? defaultPostgresConnectTimeoutMs) / 1000,
    backoff: () => reconnectDelaySeconds,
    idle_timeout: 300,
    // NOTE: the query for array types has no one to catch its failure: a server that leaves then would end the process.
    fetch_types: false,
    onnotice: () => {},
    connection: { application_name: "slipway" },
    types: { bigint: int8 },
  });
}
