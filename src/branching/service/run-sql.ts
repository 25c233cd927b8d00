import type { ExecResult, Runtime } from "./ports.ts";

export interface SqlRun {
  readonly instanceId: string;
  readonly user: string;
  readonly database: string;
  readonly sql: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Where the server's socket is; a branch's own when absent. */
  readonly socketFolder?: string;
  /** One record per line, fields parted by a tab, no headings. */
  readonly isTabular?: boolean;
  readonly outputBytesMax?: number;
}

export const branchSocketFolder = "/var/run/postgresql";

/** Runs SQL over the local socket, as the system user of Postgres; the text goes over standard input. */
export function runSql(runtime: Runtime, run: SqlRun): Promise<ExecResult> {
  const format = run.isTabular ? ["-A", "-t", "-F", "\t"] : [];
  const argv = ["psql", "-X", "-q", "-w", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=terse", ...format];
  return runtime.exec(
    run.instanceId,
    {
      argv: [...argv, "-h", run.socketFolder ?? branchSocketFolder, "-U", run.user, "-d", run.database, "-f", "-"],
      user: "postgres",
      environment: { PGCONNECT_TIMEOUT: "10" },
      input: Buffer.from(run.sql),
      timeoutMs: run.timeoutMs,
      ...(run.outputBytesMax === undefined ? {} : { outputBytesMax: run.outputBytesMax }),
    },
    run.signal,
  );
}
