/**
 * Logical copy with pg_dump into a fresh cluster, for managed databases that allow no physical one. The cluster's
 * superuser is the source's user with the source's password, so that branches accept it. All other roles come as shells
 * that cannot log in: their passwords cannot be read, but what they own must exist.
 */
import { branchingError } from "../errors.ts";
import { listConnectionFlags, seedDataFolder, seedSocketFolder } from "../model/seed-scripts.ts";
import { quoteIdentifier, quoteLiteral, quoteShell } from "../model/sql-text.ts";
import {
  parseRows,
  querySeed,
  runOnSource,
  type SeedHelper,
  seedFailure,
  seedStepTimeoutMs,
  startPrivateServer,
} from "./seed-helper.ts";

interface DatabaseFacts {
  readonly serverMajor: number;
  readonly encoding: string;
  readonly collate: string;
  readonly ctype: string;
}

export async function copyByDump(helper: SeedHelper): Promise<void> {
  const { input, address } = helper;
  input.onProgress({ phase: "checking the source" });
  const facts = await readDatabaseFacts(helper);
  if (facts.serverMajor > address.major) {
    throw branchingError(
      "version_mismatch",
      `Cannot seed source "${input.source.name}": the server has version ${facts.serverMajor}, but pg_version is ${address.major}; use --pg-version ${facts.serverMajor} or higher`,
    );
  }
  input.onProgress({ phase: "making a fresh cluster" });
  await initCluster(helper, facts);
  await startPrivateServer(helper);
  await createRoles(helper);
  await createDatabase(helper, facts);
  if (input.source.dumpSchemas.length > 0) await prepareSchemas(helper);
  input.onProgress({ phase: "dumping" });
  await pipeDump(helper);
}

async function querySource(helper: SeedHelper, sql: string): Promise<readonly (readonly string[])[]> {
  const result = await runOnSource(helper, [
    "psql",
    ...["-X", "-A", "-t", "-q", "-F", "\t", "-d", helper.address.database],
    ...listConnectionFlags(helper.address),
    ...["-c", sql],
  ]);
  if (result.exitCode !== 0) throw seedFailure(helper, "query the database", result.stderr);
  return parseRows(result.stdout.toString("utf8"));
}

async function readDatabaseFacts(helper: SeedHelper): Promise<DatabaseFacts> {
  const rows = await querySource(
    helper,
    "SELECT current_setting('server_version_num'), pg_catalog.pg_encoding_to_char(encoding), datcollate, datctype FROM pg_catalog.pg_database WHERE datname = current_database()",
  );
  const [version = "", encoding = "UTF8", collate = "C", ctype = "C"] = rows[0] ?? [];
  return { serverMajor: Math.floor(Number(version) / 10_000), encoding, collate, ctype };
}

async function initCluster(helper: SeedHelper, facts: DatabaseFacts): Promise<void> {
  const { password } = helper.input;
  const user = quoteShell(helper.address.user);
  const passwordFlag = password === "" ? "" : "--pwfile=/dev/shm/branchsvc-pw --auth-host=scram-sha-256";
  const init = `initdb -D ${seedDataFolder} -U ${user} --no-sync --auth-local=trust ${passwordFlag} --encoding=${quoteShell(facts.encoding)}`;
  const script = [
    "set -eu",
    "umask 077",
    "cat >/dev/shm/branchsvc-pw",
    "trap 'rm -f /dev/shm/branchsvc-pw' EXIT",
    `${init} --lc-collate=${quoteShell(facts.collate)} --lc-ctype=${quoteShell(facts.ctype)} >/dev/null`,
  ].join("\n");
  const result = await helper.context.runtime.exec(
    helper.instanceId,
    { argv: ["sh", "-c", script], user: "postgres", input: Buffer.from(`${password}\n`), timeoutMs: seedStepTimeoutMs },
    helper.signal,
  );
  if (result.exitCode !== 0) throw seedFailure(helper, "make a fresh cluster", result.stderr);
}

async function createRoles(helper: SeedHelper): Promise<void> {
  const rows = await querySource(
    helper,
    "SELECT rolname FROM pg_catalog.pg_roles WHERE rolname !~ '^pg_' AND rolname <> current_user",
  );
  const statements = rows
    .flatMap(([name]) => (name === undefined || name === helper.address.user ? [] : [name]))
    .map((name) => `CREATE ROLE ${quoteIdentifier(name)} NOLOGIN;`);
  if (statements.length === 0) return;
  await querySeed(helper, { user: helper.address.user, database: "template1", sql: statements.join("\n") });
}

async function createDatabase(helper: SeedHelper, facts: DatabaseFacts): Promise<void> {
  const { database, user } = helper.address;
  const exists = await querySeed(helper, {
    user,
    database: "template1",
    sql: `SELECT 1 FROM pg_catalog.pg_database WHERE datname = ${quoteLiteral(database)};`,
  });
  if (exists.length > 0) return;
  const locale = `ENCODING ${quoteLiteral(facts.encoding)} LC_COLLATE ${quoteLiteral(facts.collate)} LC_CTYPE ${quoteLiteral(facts.ctype)}`;
  const sql = `CREATE DATABASE ${quoteIdentifier(database)} TEMPLATE template0 ${locale};`;
  await querySeed(helper, { user, database: "template1", sql });
}

/** A dump of named schemas brings neither the extensions that they use nor room for its own `public`. */
async function prepareSchemas(helper: SeedHelper): Promise<void> {
  const { database, user } = helper.address;
  const extensions = await querySource(
    helper,
    "SELECT e.extname, n.nspname FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname <> 'plpgsql'",
  );
  const available = new Set(
    (await querySeed(helper, { user, database, sql: "SELECT name FROM pg_catalog.pg_available_extensions;" })).map(
      ([name]) => name,
    ),
  );
  if (helper.input.source.dumpSchemas.includes("public")) {
    const movable = extensions.some(([, schema]) => schema === "public");
    if (!movable) await querySeed(helper, { user, database, sql: "DROP SCHEMA public;" });
  }
  for (const [name, schema] of extensions) {
    if (name === undefined || schema === undefined) continue;
    if (!available.has(name)) {
      helper.input.onProgress({ phase: `extension ${name} is not in the image and is left out` });
      continue;
    }
    const target = quoteIdentifier(schema);
    const sql = `CREATE SCHEMA IF NOT EXISTS ${target}; CREATE EXTENSION IF NOT EXISTS ${quoteIdentifier(name)} SCHEMA ${target} CASCADE;`;
    await querySeed(helper, { user, database, sql });
  }
}

async function pipeDump(helper: SeedHelper): Promise<void> {
  const { address, input } = helper;
  const schemas = input.source.dumpSchemas.map((schema) => `--schema=${quoteShell(schema)}`).join(" ");
  const connection = listConnectionFlags(address).map(quoteShell).join(" ");
  const publicFilter = input.source.dumpSchemas.includes("public")
    ? "| sed '1,/^COPY /s/^CREATE SCHEMA public;$/CREATE SCHEMA IF NOT EXISTS public;/'"
    : "";
  const dump = `pg_dump ${connection} -d ${quoteShell(address.database)} ${schemas}`;
  const restore = `env -u PGPASSWORD psql -X -q -w -v ON_ERROR_STOP=1 -v VERBOSITY=terse -h ${seedSocketFolder} -p 5432 -U ${quoteShell(address.user)} -d ${quoteShell(address.database)} -f -`;
  const pipe = [
    `{ ${dump} 2>/tmp/branchsvc-dump.err; echo $? >/tmp/branchsvc-dump.rc; } ${publicFilter} | ${restore} >/dev/null || restored=$?`,
    "cat /tmp/branchsvc-dump.err >&2",
    '[ "$(cat /tmp/branchsvc-dump.rc)" = 0 ] || exit 3',
    `exit \${restored:-0}`,
  ].join("\n");
  const result = await runOnSource(helper, ["sh", "-c", pipe]);
  if (result.exitCode === 0) return;
  const what = result.exitCode === 3 ? "dump the database" : "restore the dump";
  throw seedFailure(helper, what, result.stderr);
}
