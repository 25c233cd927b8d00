/**
 * Globs of ignore rules and team maps: `*` and `?` stop at a slash, two stars do not, two stars and a slash are any
 * number of folders, none included, `[a-z]` and `[!a-z]` match one character. Matching backtracks over the last star
 * only, so no pattern costs more than pattern × text.
 */
interface Token {
  readonly kind: "literal" | "one" | "set" | "star" | "globstar" | "folders";
  readonly text: string;
  readonly isNegated: boolean;
}

export type Glob = readonly Token[];

/** Undefined when a `[` is not closed. */
export function parseGlob(pattern: string): Glob | undefined {
  const tokens: Token[] = [];
  for (let position = 0; position < pattern.length; position += 1) {
    const character = pattern.charAt(position);
    if (character === "*") {
      const isDouble = pattern.charAt(position + 1) === "*";
      const startsSegment = position === 0 || pattern.charAt(position - 1) === "/";
      const isFolders = isDouble && startsSegment && /^\/./.test(pattern.slice(position + 2));
      tokens.push({ kind: isFolders ? "folders" : isDouble ? "globstar" : "star", text: "", isNegated: false });
      position += isFolders ? 2 : isDouble ? 1 : 0;
    } else if (character === "?") {
      tokens.push({ kind: "one", text: "", isNegated: false });
    } else if (character === "[") {
      const end = pattern.indexOf("]", position + 2);
      if (end < 0) return undefined;
      const isNegated = pattern.charAt(position + 1) === "!" || pattern.charAt(position + 1) === "^";
      tokens.push({ kind: "set", text: pattern.slice(position + (isNegated ? 2 : 1), end), isNegated });
      position = end;
    } else {
      tokens.push({ kind: "literal", text: character, isNegated: false });
    }
  }
  return tokens;
}

export function matchesGlob(glob: Glob, text: string): boolean {
  let token = 0;
  let position = 0;
  let starToken = -1;
  let starPosition = 0;
  let outerToken = -1;
  let outerPosition = 0;
  while (position < text.length || token < glob.length) {
    const current = glob[token];
    if (current?.kind === "globstar" || current?.kind === "folders") {
      outerToken = token;
      outerPosition = position;
      starToken = -1;
      token += 1;
    } else if (current?.kind === "star") {
      starToken = token;
      starPosition = position;
      token += 1;
    } else if (current !== undefined && position < text.length && matchesOne(current, text.charAt(position))) {
      token += 1;
      position += 1;
    } else if (starToken >= 0 && starPosition < text.length && text.charAt(starPosition) !== "/") {
      starPosition += 1;
      position = starPosition;
      token = starToken + 1;
    } else if (outerToken >= 0 && outerPosition < text.length) {
      outerPosition = nextStart(glob[outerToken], text, outerPosition);
      position = outerPosition;
      token = outerToken + 1;
      starToken = -1;
    } else {
      return false;
    }
  }
  return true;
}

/** Where the text after two stars may begin next: anywhere, or after the next slash when they stand for folders. */
function nextStart(token: Token | undefined, text: string, position: number): number {
  if (token?.kind !== "folders") return position + 1;
  const slash = text.indexOf("/", position);
  return slash < 0 ? text.length : slash + 1;
}

function matchesOne(token: Token, character: string): boolean {
  if (token.kind === "literal") return token.text === character;
  if (character === "/") return false;
  return token.kind === "one" || inSet(token.text, character) !== token.isNegated;
}

function inSet(set: string, character: string): boolean {
  for (let position = 0; position < set.length; position += 1) {
    const isRange = set.charAt(position + 1) === "-" && position + 2 < set.length;
    if (!isRange && set.charAt(position) === character) return true;
    if (isRange && set.charAt(position) <= character && character <= set.charAt(position + 2)) return true;
    if (isRange) position += 2;
  }
  return false;
}
