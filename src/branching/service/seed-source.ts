/**
 * Seeds a generation: copies the source's data into a fresh volume, cleans it of everything that ties it to where it came
 * from, and settles it (one start, freeze, clean stop), so that no branch ever has to recover or set a hint bit again.
 * Everything runs in one helper container of the source's image. The source itself is only read.
 */
import { branchingError } from "../errors.ts";
import type { Source } from "../model/records.ts";
import { instanceName } from "../model/resource-names.ts";
import {
  controlFilePath,
  formatFinishScript,
  idleScript,
  parseControlFile,
  prepareSeedScript,
  type SourceAddress,
  seedMount,
  seedSocketFolder,
  settleStopScript,
  walFileName,
} from "../model/seed-scripts.ts";
import { parseNameList, quoteIdentifier, quoteLiteral } from "../model/sql-text.ts";
import { copyByBackup } from "./copy-by-backup.ts";
import { copyByDump } from "./copy-by-dump.ts";
import { type EngineContext, randomSuffix } from "./engine-context.ts";
import { runSql } from "./run-sql.ts";
import type { Step } from "./saga.ts";
import { querySeed, runShell, runTool, type SeedHelper, type SeedInput, startPrivateServer } from "./seed-helper.ts";

/** What the steps learn about the new generation. */
export interface SeedFacts {
  superuser: string;
  maxConnections: number;
  walSegmentBytes: number;
}

const libraryTimeoutMs = 60_000;

export function listSeedSteps(context: EngineContext, input: SeedInput, facts: SeedFacts): readonly Step[] {
  let instanceId: string | undefined;
  const open = (signal: AbortSignal): SeedHelper => ({
    context,
    input,
    address: addressOf(context, input.source),
    instanceId: instanceId ?? "",
    signal,
  });
  const removeHelper = async (): Promise<void> => {
    if (instanceId !== undefined) await context.runtime.removeInstance(instanceId);
  };
  const copy = input.source.via === "dump" ? copyByDump : copyByBackup;
  return [
    {
      name: "volume",
      run: () => context.runtime.createVolume(input.volume, { kind: "source", name: input.source.name }),
      undo: () => context.runtime.removeVolume(input.volume),
    },
    {
      name: "helper",
      run: async () => {
        instanceId = await createHelper(context, input);
        await context.runtime.startInstance(instanceId);
      },
      undo: removeHelper,
    },
    { name: "copy", run: (signal) => copyData(open(signal), copy) },
    { name: "settle", run: (signal) => settle(open(signal), facts) },
    { name: "close", run: removeHelper },
  ];
}

function addressOf(context: EngineContext, source: Source): SourceAddress {
  return {
    host: source.host,
    port: source.port,
    user: source.user,
    database: source.database,
    sslMode: context.settings.seedSslMode,
    major: Number(source.pgVersion),
  };
}

function createHelper(context: EngineContext, input: SeedInput): Promise<string> {
  const { source } = input;
  return context.runtime.createInstance({
    name: instanceName(context.registry.instanceId, "helper", source.name, randomSuffix(context)),
    labels: { kind: "helper", name: source.name },
    imageId: input.imageId,
    script: idleScript,
    environment: {},
    mounts: [{ volume: input.volume, target: seedMount, isReadOnly: false }],
    mayMount: false,
    memoryBytes: 0,
    sharedMemoryBytes: context.settings.branchSharedMemoryBytes,
    network: source.network === undefined ? { kind: "bridge" } : { kind: "named", name: source.network },
    publishedPort: undefined,
    restarts: false,
  });
}

async function copyData(helper: SeedHelper, copy: (helper: SeedHelper) => Promise<void>): Promise<void> {
  await runShell(helper, prepareSeedScript, "prepare the volume");
  await copy(helper);
}

async function settle(helper: SeedHelper, facts: SeedFacts): Promise<void> {
  const { context, input } = helper;
  const mode = context.settings.seedSettle;
  facts.superuser = input.source.user;
  if (mode !== "off") {
    input.onProgress({ phase: "settling" });
    await startPrivateServer(helper);
    facts.superuser = await findSuperuser(helper);
    await readServerFacts(helper, facts);
    await checkPreloadedLibraries(helper, facts.superuser);
    await warnAboutBranches(helper, facts.superuser);
    await cutSubscriptions(helper, facts.superuser);
    if (mode === "freeze") await freezeRows(helper, facts.superuser);
    await runShell(helper, settleStopScript, "stop the settled copy");
  }
  const control = parseControlFile(
    (await runShell(helper, `head -c 512 ${controlFilePath}`, "read the control file")).stdout,
  );
  if (mode !== "off" && !control.isShutDown) {
    throw branchingError(
      "seed_failed",
      `Cannot seed source "${input.source.name}": the settled copy was not shut down cleanly`,
    );
  }
  const walFile = control.isShutDown ? walFileName(control, facts.walSegmentBytes) : undefined;
  await runShell(helper, formatFinishScript(walFile), "finish the seed");
}

async function readServerFacts(helper: SeedHelper, facts: SeedFacts): Promise<void> {
  const rows = await querySeed(helper, {
    user: facts.superuser,
    database: "template1",
    sql: "SELECT setting FROM pg_catalog.pg_settings WHERE name IN ('max_connections', 'wal_segment_size') ORDER BY name;",
  });
  facts.maxConnections = Number(rows[0]?.[0] ?? facts.maxConnections);
  facts.walSegmentBytes = Number(rows[1]?.[0] ?? facts.walSegmentBytes);
}

async function findSuperuser(helper: SeedHelper): Promise<string> {
  const rows = await querySeed(helper, {
    user: helper.input.source.user,
    database: helper.input.source.database,
    sql: "SELECT rolname FROM pg_catalog.pg_roles WHERE rolsuper AND rolcanlogin ORDER BY oid LIMIT 1;",
  });
  const name = rows[0]?.[0];
  if (name === undefined) {
    throw branchingError(
      "seed_failed",
      `Cannot seed source "${helper.input.source.name}": it has no superuser that may log in`,
    );
  }
  return name;
}

/**
 * The settle run preloads nothing, branches preload what the source does. A library that the image lacks would keep every
 * branch from starting: better said now. One that only refuses to be loaded late is there.
 */
async function checkPreloadedLibraries(helper: SeedHelper, superuser: string): Promise<void> {
  const rows = await querySeed(helper, {
    user: superuser,
    database: "template1",
    sql: "SELECT setting FROM pg_catalog.pg_file_settings WHERE name = 'shared_preload_libraries' ORDER BY seqno DESC LIMIT 1;",
  });
  for (const name of parseNameList(rows[0]?.[0] ?? "")) {
    const result = await runSql(helper.context.runtime, {
      instanceId: helper.instanceId,
      user: superuser,
      database: "template1",
      sql: `LOAD ${quoteLiteral(name)};`,
      socketFolder: seedSocketFolder,
      timeoutMs: libraryTimeoutMs,
      signal: helper.signal,
    });
    if (result.exitCode === 0 || !/could not (?:access|load) (?:file|library)/.test(result.stderr)) continue;
    throw branchingError(
      "seed_failed",
      `Cannot seed source "${helper.input.source.name}": it preloads the library "${name}", which the image does not hold; give an image that does with --image`,
    );
  }
}

/** What will surprise in branches, while somebody still looks. */
async function warnAboutBranches(helper: SeedHelper, superuser: string): Promise<void> {
  const { source, onProgress } = helper.input;
  const ask = (sql: string): ReturnType<typeof querySeed> =>
    querySeed(helper, { user: superuser, database: "template1", sql });
  const passwords = await ask(
    `SELECT 1 FROM pg_catalog.pg_authid WHERE rolname = ${quoteLiteral(source.user)} AND rolpassword IS NULL;`,
  );
  if (passwords.length > 0) {
    onProgress({
      phase: `warning: role ${source.user} has no password, so branches admit it only with rotated credentials or after a mask that sets one`,
    });
  }
  if (helper.address.major < 15) return;
  const drifted = await ask(
    "SELECT datname FROM pg_catalog.pg_database WHERE datallowconn AND datcollversion <> pg_catalog.pg_database_collation_actual_version(oid);",
  );
  for (const [name] of drifted) {
    onProgress({
      phase: `warning: the image sorts text otherwise than the server of database ${name}: its text indexes may be wrong; use an image with the server's C library`,
    });
  }
}

/** A branch that woke up as a subscriber would take over the slot of the real one. */
async function cutSubscriptions(helper: SeedHelper, superuser: string): Promise<void> {
  const rows = await querySeed(helper, {
    user: superuser,
    database: "template1",
    sql: "SELECT d.datname, s.subname FROM pg_catalog.pg_subscription s JOIN pg_catalog.pg_database d ON d.oid = s.subdbid;",
  });
  for (const [database, subscription] of rows) {
    if (database === undefined || subscription === undefined) continue;
    const name = quoteIdentifier(subscription);
    const sql = `ALTER SUBSCRIPTION ${name} DISABLE; ALTER SUBSCRIPTION ${name} SET (slot_name = NONE);`;
    await querySeed(helper, { user: superuser, database, sql });
  }
}

/** Frozen rows need no hint bits: reading a branch then writes nothing. */
async function freezeRows(helper: SeedHelper, superuser: string): Promise<void> {
  const common = ["-h", seedSocketFolder, "-U", superuser, "-w", "--all", "--freeze", "-q"];
  const tables = ["-t", "pg_catalog.pg_statistic", "-t", "pg_catalog.pg_statistic_ext_data"];
  for (const extra of [["--analyze", "--skip-locked", "--jobs", "2"], tables]) {
    await runTool(helper, ["vacuumdb", "--maintenance-db", "template1", ...common, ...extra], "freeze the copied data");
  }
  await querySeed(helper, {
    user: superuser,
    database: "template1",
    sql: "CHECKPOINT; SELECT pg_catalog.pg_switch_wal();",
  });
}

export function emptyFacts(): SeedFacts {
  return { superuser: "", maxConnections: 100, walSegmentBytes: 16 * 1024 * 1024 };
}
