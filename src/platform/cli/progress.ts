import { SingleBar } from "cli-progress";
import type { Terminal } from "./command.ts";

/** Shows long work on a terminal; says nothing elsewhere, so that scripts and logs stay clean. */
export interface Progress {
  /** `total` undefined shows a counter instead of a bar. */
  update(done: number, total: number | undefined, note: string): void;
  /** Ends the line; call it always, also after a failure. */
  stop(): void;
}

const silentProgress: Progress = { update: () => {}, stop: () => {} };
const redrawIntervalMs = 100;

export interface ProgressOptions {
  readonly label: string;
  /** Renders a count, for example bytes as MB; plain numbers when absent. */
  readonly format?: (count: number) => string;
}

export function createProgress(terminal: Terminal, options: ProgressOptions): Progress {
  if (!terminal.isErrorTty) return silentProgress;
  const format = options.format ?? String;
  let bar: SingleBar | undefined;
  let hasCounterLine = false;
  const showBar = (done: number, total: number, note: string): void => {
    if (bar === undefined) {
      bar = new SingleBar({
        format: `${options.label} [{bar}] {percentage}% {shownDone}/{shownTotal} {note}`,
        stream: process.stderr,
        fps: 1000 / redrawIntervalMs,
        hideCursor: true,
        clearOnComplete: false,
        barCompleteChar: "#",
        barIncompleteChar: "-",
      });
      bar.start(total, done, { note, shownDone: format(done), shownTotal: format(total) });
    }
    bar.setTotal(total);
    bar.update(done, { note, shownDone: format(done), shownTotal: format(total) });
  };
  return {
    update(done, total, note) {
      if (total !== undefined && total > 0) {
        showBar(done, total, note);
        return;
      }
      hasCounterLine = true;
      terminal.writeError(`\r\u001b[2K${options.label} ${format(done)} ${note}`);
    },
    stop() {
      if (bar) bar.stop();
      else if (hasCounterLine) terminal.writeError("\n");
    },
  };
}

/** `12.3 MB`, `4.0 GiB`-style sizes for people, in powers of ten. */
export function formatBytes(sizeBytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = sizeBytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 ? String(value) : value.toFixed(1)} ${units[unit]}`;
}
