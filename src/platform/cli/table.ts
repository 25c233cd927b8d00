import Table from "cli-table3";
import type { Terminal } from "./command.ts";
import { createStyle } from "./style.ts";

export interface TableColumn {
  readonly title: string;
  readonly isRightAligned?: boolean;
}

const noBorder = {
  top: "",
  "top-mid": "",
  "top-left": "",
  "top-right": "",
  bottom: "",
  "bottom-mid": "",
  "bottom-left": "",
  "bottom-right": "",
  left: "",
  "left-mid": "",
  mid: "",
  "mid-mid": "",
  right: "",
  "right-mid": "",
  middle: "  ",
};

/** Plain aligned columns under bold headings: easy to read, easy to cut with awk. Ends with a line feed. */
export function formatTable(
  terminal: Pick<Terminal, "hasColor">,
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
): string {
  const style = createStyle(terminal.hasColor);
  const table = new Table({
    head: columns.map((column) => style("bold", column.title)),
    colAligns: columns.map((column) => (column.isRightAligned ? "right" : "left")),
    chars: noBorder,
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0, compact: true },
  });
  for (const row of rows) table.push([...row]);
  const lines = table.toString().split("\n");
  return `${lines.map((line) => line.trimEnd()).join("\n")}\n`;
}
