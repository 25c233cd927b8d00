/**
 * The program of a branch's container: it puts the data directory together on its layout and becomes Postgres. It runs
 * at every start of the container, so each part can be repeated. It travels in the container's command: no helper
 * container and no upload stands between `create` and the first query.
 *
 * Folders that hold unmasked data (`/b/0`, layers) can be entered by root only, and Postgres does not run as root.
 */

import { closedHba, hbaFileName, openHba, type PostgresSetting } from "./postgres-settings.ts";
import type { LayoutKind } from "./records.ts";
import { quoteShell } from "./sql-text.ts";

export const writableMount = "/b/w";
export const overlayDataFolder = "/b/data";
export const reflinkDataFolder = `${writableMount}/data`;
/** Present once the data of this writable layer may be served. */
export const releasedMarker = `${writableMount}/released`;
/** Postgres in a branch refused to start for a reason that the script knows. */
export const scriptFailureExitCode = 78;

export function lowerMount(index: number): string {
  return `/b/${index}`;
}

export function dataFolderOf(layout: LayoutKind): string {
  return layout === "overlay" ? overlayDataFolder : reflinkDataFolder;
}

export interface BranchScriptInput {
  readonly layout: LayoutKind;
  /** Frozen layers above the generation: the overlay stacks them all, a reflink base is one full copy. */
  readonly layerCount: number;
  readonly settings: readonly PostgresSetting[];
  /** True when the data is known to be masked (or needs no mask). */
  readonly isReleased: boolean;
}

export function formatBranchScript(input: BranchScriptInput): string {
  const arguments_ = input.settings.flatMap((setting) => ["-c", quoteShell(`${setting.name}=${setting.value}`)]);
  return [
    "set -eu",
    `fail() { echo "branchsvc: $1" >&2; exit ${scriptFailureExitCode}; }`,
    ...(input.layout === "overlay" ? formatOverlay(input.layerCount) : formatReflink()),
    ...formatHba(input.isReleased),
    "rm -f $D/postmaster.pid $D/standby.signal $D/recovery.signal",
    "if [ -d /var/run/postgresql ]; then chmod 2777 /var/run/postgresql; else mkdir -p -m 2777 /var/run/postgresql; fi",
    `set -- postgres -D $D ${arguments_.join(" ")}`,
    ...becomePostgres,
  ].join("\n");
}

/** Every image has one of these; none adds a process between the runtime and Postgres. */
export const becomePostgres: readonly string[] = [
  "export PGDATA=$D",
  'if command -v gosu >/dev/null; then exec gosu postgres "$@"; fi',
  'if command -v su-exec >/dev/null; then exec su-exec postgres "$@"; fi',
  'exec setpriv --reuid=postgres --regid=postgres --init-groups "$@"',
];

function formatOverlay(layerCount: number): readonly string[] {
  const layers = Array.from({ length: layerCount }, (_, index) => `${lowerMount(layerCount - index)}/upper`);
  const lower = [...layers, `${lowerMount(0)}/data`].join(":");
  const options = `lowerdir=${lower},upperdir=${writableMount}/upper,workdir=${writableMount}/work`;
  return [
    `D=${overlayDataFolder}`,
    `[ -s ${lowerMount(0)}/data/PG_VERSION ] || fail "the base data is missing"`,
    ...layers.map((layer) => `[ -d ${layer} ] || fail "the layer ${layer} is missing"`),
    'command -v mount >/dev/null || fail "the image has no mount program"',
    `chmod 0700 ${writableMount}`,
    `mkdir -p ${writableMount}/upper ${writableMount}/work ${overlayDataFolder}`,
    `chown postgres:postgres ${writableMount}/upper; chmod 0700 ${writableMount}/upper`,
    `mount -t overlay -o ${options} branchsvc ${overlayDataFolder} || fail "the overlay could not be mounted"`,
  ];
}

function formatReflink(): readonly string[] {
  return [
    `D=${reflinkDataFolder}`,
    `chmod 0711 ${writableMount}`,
    `if [ ! -d $D ]; then`,
    `  [ -s ${lowerMount(0)}/data/PG_VERSION ] || fail "the base data is missing"`,
    `  rm -rf $D.part`,
    `  cp -a --reflink=always ${lowerMount(0)}/data $D.part || fail "the base could not be cloned"`,
    `  mv $D.part $D`,
    `fi`,
    `[ -s $D/PG_VERSION ] || fail "the data of the branch is missing"`,
  ];
}

function formatHba(isReleased: boolean): readonly string[] {
  const write = (lines: readonly string[]): string => `printf '%s\\n' ${lines.map(quoteShell).join(" ")}`;
  const test = isReleased ? "true" : `[ -e ${releasedMarker} ]`;
  return [
    `if ${test}; then ${write(openHba)} >$D/${hbaFileName}; else ${write(closedHba)} >$D/${hbaFileName}; fi`,
    `chown postgres:postgres $D/${hbaFileName}; chmod 0600 $D/${hbaFileName}`,
  ];
}

/**
 * Opens the gate of a running branch. The marker comes first: should this die half-way, the data is masked and the next
 * start opens the gate.
 */
export function formatReleaseScript(layout: LayoutKind): string {
  const data = dataFolderOf(layout);
  return [
    "set -eu",
    `: >${releasedMarker}`,
    `printf '%s\\n' ${openHba.map(quoteShell).join(" ")} >${data}/${hbaFileName}`,
    "kill -HUP 1",
  ].join("\n");
}
