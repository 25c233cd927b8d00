import { styleText } from "node:util";

export type StyleName = "bold" | "dim" | "red" | "green" | "yellow" | "blue" | "cyan" | "gray" | "underline";
export type Style = (names: StyleName | readonly StyleName[], text: string) => string;

/** Colours only where the terminal has them; elsewhere the text itself. */
export function createStyle(hasColor: boolean): Style {
  if (!hasColor) return (_names, text) => text;
  return (names, text) => styleText(typeof names === "string" ? names : [...names], text, { validateStream: false });
}
