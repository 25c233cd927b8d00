import { branchingError } from "../errors.ts";
import {
  cleanCopyScript,
  listConnectionFlags,
  parseBackupProgress,
  seedDataFolder,
  seedMount,
} from "../model/seed-scripts.ts";
import { parseRows, runOnSource, runShell, type SeedHelper, seedFailure } from "./seed-helper.ts";

/** Physical copy with pg_basebackup. The user may be allowed to replicate and nothing else. */
export async function copyByBackup(helper: SeedHelper): Promise<void> {
  const { input, address } = helper;
  input.onProgress({ phase: "checking the source" });
  const serverMajor = await findServerMajor(helper);
  if (serverMajor !== undefined && serverMajor !== address.major) throw versionMismatch(helper, serverMajor);
  const mappings = await listTablespaceMappings(helper);
  input.onProgress({ phase: "copying" });
  const backup = [
    "pg_basebackup",
    ...["-D", seedDataFolder, "-F", "plain", "-X", "stream", "--checkpoint=fast", "--progress", "--no-sync"],
    ...mappings.map((mapping) => `--tablespace-mapping=${mapping}`),
    ...listConnectionFlags(address),
  ];
  const result = await runOnSource(helper, backup, (line) => {
    const progress = parseBackupProgress(line);
    if (progress !== undefined) input.onProgress({ phase: "copying", ...progress });
  });
  if (result.exitCode !== 0) throw seedFailure(helper, "copy the data", withoutProgress(result.stderr));
  await checkCopiedVersion(helper);
  await runShell(helper, cleanCopyScript, "clean the copy");
}

/** Works with the replication right alone. */
async function findServerMajor(helper: SeedHelper): Promise<number | undefined> {
  const { address } = helper;
  const connection = `dbname=replication replication=true`;
  const result = await runOnSource(helper, [
    "psql",
    ...["-X", "-A", "-t", "-q", "-d", connection],
    ...listConnectionFlags(address),
    ...["-c", "SHOW server_version_num"],
  ]);
  if (result.exitCode !== 0) throw seedFailure(helper, "reach the database", result.stderr);
  const number = Number(result.stdout.toString("utf8").trim());
  return Number.isInteger(number) && number > 0 ? Math.floor(number / 10_000) : undefined;
}

/** Tablespaces lie outside the data directory; each goes into the volume first and into the data directory later. */
async function listTablespaceMappings(helper: SeedHelper): Promise<readonly string[]> {
  const sql =
    "SELECT oid, pg_catalog.pg_tablespace_location(oid) FROM pg_catalog.pg_tablespace WHERE pg_catalog.pg_tablespace_location(oid) <> ''";
  const result = await runOnSource(helper, [
    "psql",
    ...["-X", "-A", "-t", "-q", "-F", "\t", "-d", helper.address.database],
    ...listConnectionFlags(helper.address),
    ...["-c", sql],
  ]);
  // Without the right to query, a tablespace shows as a folder that pg_basebackup may not make: refused there.
  if (result.exitCode !== 0) return [];
  return parseRows(result.stdout.toString("utf8")).map(([oid, location]) => {
    const escaped = (location ?? "").replaceAll("\\", "\\\\").replaceAll("=", "\\=");
    return `${escaped}=${seedMount}/tblspc/${oid}`;
  });
}

async function checkCopiedVersion(helper: SeedHelper): Promise<void> {
  const result = await runShell(helper, `cat ${seedDataFolder}/PG_VERSION; postgres -V`, "read the copied version");
  const [copied = "", program = ""] = result.stdout.toString("utf8").split("\n");
  const programMajor = program.match(/(\d+)/)?.[1];
  if (Number(copied) !== helper.address.major) throw versionMismatch(helper, Number(copied));
  if (programMajor !== copied.trim()) {
    throw branchingError(
      "version_mismatch",
      `Cannot seed source "${helper.input.source.name}": its data has version ${copied.trim()}, but the image runs ${programMajor}; give an image of version ${copied.trim()}`,
    );
  }
}

function versionMismatch(helper: SeedHelper, found: number): Error {
  return branchingError(
    "version_mismatch",
    `Cannot seed source "${helper.input.source.name}": the server has version ${found}, but pg_version is ${helper.address.major}; use --pg-version ${found}`,
  );
}

function withoutProgress(text: string): string {
  return text
    .split(/[\r\n]+/)
    .filter((line) => parseBackupProgress(line) === undefined)
    .join("\n");
}
