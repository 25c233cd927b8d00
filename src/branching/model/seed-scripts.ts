/**
 * Shell of the seed helper: a container of the source's image with the new generation's volume at `/seed`. The password
 * comes as the first line of standard input and lives in the environment of one process only. Nothing is taken over from
 * the image's own PG* variables: an inherited PGPORT would send the seed elsewhere.
 */
import { assert } from "../../platform/errors/assert.ts";
import type { PostgresSetting } from "./postgres-settings.ts";
import { quoteShell } from "./sql-text.ts";

export const seedMount = "/seed";
export const seedDataFolder = `${seedMount}/data`;
export const seedSocketFolder = "/tmp/branchsvc";
const tablespaceFolder = "branchsvc_tblspc";

export const idleScript = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done";

export interface SourceAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  readonly sslMode: string;
  readonly major: number;
}

/** Runs its arguments with a clean libpq environment and the password from the first line of input. */
export function formatClientScript(address: SourceAddress): string {
  const rootCert = address.sslMode.startsWith("verify") && address.major >= 16 ? ["export PGSSLROOTCERT=system"] : [];
  return [
    "set -eu",
    "for name in $(env | sed -n 's/^\\(PG[A-Z]*\\)=.*/\\1/p'); do unset $name; done",
    "IFS= read -r PGPASSWORD || true",
    "export PGPASSWORD",
    `export PGSSLMODE=${quoteShell(address.sslMode)} PGCONNECT_TIMEOUT=10 PGAPPNAME=branchsvc-seed LC_ALL=C`,
    ...rootCert,
    'exec "$@"',
  ].join("\n");
}

export function listConnectionFlags(address: SourceAddress): readonly string[] {
  return ["-h", address.host, "-p", String(address.port), "-U", address.user, "-w"];
}

const asPostgres = [
  "as_postgres() {",
  '  if command -v gosu >/dev/null; then gosu postgres "$@"',
  '  elif command -v su-exec >/dev/null; then su-exec postgres "$@"',
  '  else setpriv --reuid=postgres --regid=postgres --init-groups "$@"; fi',
  "}",
];

/** An empty volume, owned so that the tools (which run as postgres) can fill it. */
export const prepareSeedScript = [
  "set -eu",
  `if [ -n "$(ls -A ${seedMount} | grep -v '^lost+found$' || true)" ]; then echo "the volume is not empty" >&2; exit 1; fi`,
  `chmod 0755 ${seedMount}`,
  `mkdir -m 0700 ${seedDataFolder} ${seedMount}/tblspc && chown postgres:postgres ${seedDataFolder} ${seedMount}/tblspc`,
].join("\n");

/**
 * Makes a copied data directory into one that stands alone: its tablespaces inside it, behind relative links; no trace
 * of a standby; no old logs or process files; a configuration without references to files that are not here.
 */
export const cleanCopyScript = [
  "set -eu",
  `cd ${seedDataFolder}`,
  "for link in pg_tblspc/*; do",
  '  [ -L "$link" ] || continue',
  `  oid=\${link#pg_tblspc/}`,
  `  mkdir -p ${tablespaceFolder}`,
  `  mv "$(readlink "$link")" "${tablespaceFolder}/$oid"`,
  `  ln -sfn "../${tablespaceFolder}/$oid" "$link"`,
  "done",
  `rmdir ${seedMount}/tblspc 2>/dev/null || true`,
  "rm -f standby.signal recovery.signal postmaster.pid postmaster.opts current_logfiles tablespace_map.old",
  "rm -rf log pg_log pg_replslot/* pg_wal/archive_status/*",
  "touch postgresql.conf postgresql.auto.conf pg_ident.conf pg_hba.conf",
  "sed -i -E '/^[[:space:]]*(primary_conninfo|primary_slot_name|restore_command|recovery_[a-z_]+|archive_cleanup_command|promote_trigger_file)[[:space:]=]/d' postgresql.auto.conf",
  "sed -i -E 's/^[[:space:]]*(include|include_dir|include_if_exists)[[:space:]=]/#branchsvc &/' postgresql.conf",
  "find . -xdev ! -user postgres -exec chown postgres:postgres {} +",
  `chmod 0700 ${seedDataFolder}`,
].join("\n");

/** The settle run is private (a socket in a folder of its own) and may be lossy: a crash throws the seed away. */
export function listSettleSettings(major: number): readonly PostgresSetting[] {
  const values: Readonly<Record<string, string>> = {
    data_directory: seedDataFolder,
    hba_file: `${seedSocketFolder}/hba`,
    ident_file: `${seedSocketFolder}/ident`,
    external_pid_file: "",
    listen_addresses: "",
    unix_socket_directories: seedSocketFolder,
    port: "5432",
    shared_preload_libraries: "",
    session_preload_libraries: "",
    local_preload_libraries: "",
    archive_mode: "off",
    archive_command: "",
    ssl: "off",
    logging_collector: "off",
    log_destination: "stderr",
    log_statement: "none",
    huge_pages: "off",
    shared_buffers: "128MB",
    fsync: "off",
    full_page_writes: "off",
    synchronous_commit: "off",
    synchronous_standby_names: "",
    wal_recycle: "off",
    wal_keep_size: "0",
    autovacuum: "off",
    hot_standby: "off",
    max_logical_replication_workers: "0",
    recovery_init_sync_method: "syncfs",
    primary_conninfo: "",
    primary_slot_name: "",
    restore_command: "",
    archive_cleanup_command: "",
    recovery_end_command: "",
    default_transaction_read_only: "off",
    statement_timeout: "0",
    checkpoint_timeout: "1h",
    ...(major >= 17 ? { event_triggers: "off" } : {}),
  };
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}

/** Starts the private server and waits through its recovery, however long; its log is the error text. */
export function formatSettleStartScript(major: number): string {
  const settings = listSettleSettings(major).flatMap(({ name, value }) => ["-c", quoteShell(`${name}=${value}`)]);
  return [
    "set -eu",
    ...asPostgres,
    `mkdir -p ${seedSocketFolder}`,
    `echo 'local all all trust' >${seedSocketFolder}/hba; : >${seedSocketFolder}/ident`,
    `chown -R postgres:postgres ${seedSocketFolder}; chmod 0700 ${seedSocketFolder}`,
    `as_postgres postgres -D ${seedDataFolder} ${settings.join(" ")} >${seedSocketFolder}/log 2>&1 &`,
    "server=$!",
    `until as_postgres pg_isready -q -h ${seedSocketFolder} -p 5432; do`,
    `  kill -0 $server 2>/dev/null || { tail -c 4000 ${seedSocketFolder}/log >&2; exit 1; }`,
    "  sleep 0.1",
    "done",
  ].join("\n");
}

/** Ends the private server with a shutdown checkpoint. */
export const settleStopScript = [
  "set -eu",
  `pid=$(head -n 1 ${seedDataFolder}/postmaster.pid)`,
  "kill -INT $pid",
  `while [ -e ${seedDataFolder}/postmaster.pid ]; do sleep 0.05; done`,
].join("\n");

export const controlFilePath = `${seedDataFolder}/global/pg_control`;

/**
 * Keeps the one log segment that a start reads and gives its unwritten rest back as a hole, so that the first write of a
 * branch copies little. Then closes the volume to everybody but root.
 */
export function formatFinishScript(walFile: string | undefined): string {
  const trim =
    walFile === undefined
      ? []
      : [
          `for file in pg_wal/[0-9A-F]*; do [ "$file" = pg_wal/${walFile} ] || rm -rf "$file"; done`,
          `fallocate -d pg_wal/${walFile} 2>/dev/null || true`,
        ];
  return [
    "set -eu",
    `cd ${seedDataFolder}`,
    ...trim,
    "rm -rf pg_wal/archive_status/* pg_wal/summaries/* pg_stat_tmp/* postmaster.opts",
    `chown root:root ${seedMount}; chmod 0700 ${seedMount}`,
    "sync",
  ].join("\n");
}

/** What the control file tells about a cluster; the fields read here have kept their places from 14 to 18. */
export interface ControlFacts {
  readonly isShutDown: boolean;
  /** Position in the log from which a start would read. */
  readonly redoPosition: bigint;
  readonly timeline: number;
}

const controlOffsets = { state: 16, redo: 40, timeline: 48, end: 52 } as const;
const stateShutDown = 1;

export function parseControlFile(bytes: Buffer): ControlFacts {
  assert(bytes.length >= controlOffsets.end, "a control file is longer than its first fields");
  return {
    isShutDown: bytes.readUInt32LE(controlOffsets.state) === stateShutDown,
    redoPosition: bytes.readBigUInt64LE(controlOffsets.redo),
    timeline: bytes.readUInt32LE(controlOffsets.timeline),
  };
}

/** Name of the log segment that holds a position. */
export function walFileName(facts: Pick<ControlFacts, "redoPosition" | "timeline">, segmentBytes: number): string {
  const segment = facts.redoPosition / BigInt(segmentBytes);
  const perFile = 0x1_0000_0000n / BigInt(segmentBytes);
  const parts = [BigInt(facts.timeline), segment / perFile, segment % perFile];
  return parts.map((part) => part.toString(16).toUpperCase().padStart(8, "0")).join("");
}

/** `123456/234567 kB (52%), 0/1 tablespace` of pg_basebackup --progress. */
export function parseBackupProgress(
  line: string,
): { readonly doneBytes: number; readonly totalBytes: number } | undefined {
  const match = line.match(/(\d+)\/(\d+) kB \(\d+%\)/);
  return match === null ? undefined : { doneBytes: Number(match[1]) * 1024, totalBytes: Number(match[2]) * 1024 };
}
