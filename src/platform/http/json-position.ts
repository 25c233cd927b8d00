/**
 * Finds the first mistake in a text that is known not to be JSON. `JSON.parse` names a position in some cases and an
 * excerpt of the text in others; this names line and column always and repeats at most one character.
 */
export interface JsonMistake {
  readonly line: number;
  /** Counts characters from 1. */
  readonly column: number;
  readonly found: string;
}

type Expectation = "value" | "value or ]" | "key" | "key or }" | ":" | ", or end" | "end";

interface Token {
  readonly kind: string;
  readonly end: number;
}

const spacePattern = /[\t\n\r ]*/y;
const scalarPattern = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;
const escapePattern = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

export function findJsonError(text: string): JsonMistake {
  const open: string[] = [];
  let expected: Expectation = "value";
  let position = 0;
  for (;;) {
    position = endOf(spacePattern, text, position) ?? position;
    const token = readToken(text, position);
    if (typeof token === "number") return describe(text, expected === "end" ? position : token, expected);
    const next = step(expected, token.kind, open);
    if (next === undefined) return describe(text, position, expected);
    expected = next;
    position = token.end;
  }
}

/** A token, or the position of the character that makes it none. */
function readToken(text: string, position: number): Token | number {
  const character = text[position] ?? "";
  if (character !== "" && "[]{}:,".includes(character)) return { kind: character, end: position + 1 };
  if (character === '"') return readString(text, position);
  const end = endOf(scalarPattern, text, position);
  return end === undefined ? position : { kind: "scalar", end };
}

function readString(text: string, start: number): Token | number {
  let position = start + 1;
  while (position < text.length) {
    const character = text[position] ?? "";
    if (character === '"') return { kind: "string", end: position + 1 };
    if (character < " ") return position;
    if (character === "\\") {
      const end = endOf(escapePattern, text, position);
      if (end === undefined) return position;
      position = end;
    } else position += 1;
  }
  return position;
}

function endOf(pattern: RegExp, text: string, position: number): number | undefined {
  pattern.lastIndex = position;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/** What may follow a token, or undefined when the token itself may not stand here. `open` holds the open brackets. */
function step(expected: Expectation, token: string, open: string[]): Expectation | undefined {
  const afterValue = (): Expectation => (open.length === 0 ? "end" : ", or end");
  if (token === "]" || token === "}") {
    const opener = token === "]" ? "[" : "{";
    const isAllowed = expected === ", or end" || expected === (token === "]" ? "value or ]" : "key or }");
    if (!isAllowed || open.pop() !== opener) return undefined;
    return afterValue();
  }
  switch (expected) {
    case "value":
    case "value or ]":
      if (token === "string" || token === "scalar") return afterValue();
      if (token !== "[" && token !== "{") return undefined;
      open.push(token);
      return token === "[" ? "value or ]" : "key or }";
    case "key":
    case "key or }":
      return token === "string" ? ":" : undefined;
    case ":":
      return token === ":" ? "value" : undefined;
    case ", or end":
      if (token !== ",") return undefined;
      return open.at(-1) === "[" ? "value" : "key";
    case "end":
      return undefined;
  }
}

function describe(text: string, position: number, expected: Expectation): JsonMistake {
  const before = text.slice(0, position);
  const character = text[position];
  const shown = character === undefined ? "end of the body" : JSON.stringify(character);
  return {
    line: before.split("\n").length,
    column: position - before.lastIndexOf("\n"),
    found: expected === "end" && character !== undefined ? `${shown} after the value` : shown,
  };
}
