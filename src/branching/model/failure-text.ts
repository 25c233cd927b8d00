/**
 * What a failed tool said, made fit to be shown: the end of its output without the lines in which Postgres repeats
 * data and statements (DETAIL, CONTEXT, STATEMENT, QUERY), without control characters, and clipped.
 */
export const journalBytesMax = 1024;
export const callerBytesMax = 2048;

const dataLine = /^(?:psql:[^ ]* |pg_\w+: (?:\w+: )?)?\s*(?:DETAIL|CONTEXT|STATEMENT|QUERY|LINE \d+):/;

export function clipToolOutput(output: string, bytesMax: number, secrets: readonly string[] = []): string {
  let isContinuation = false;
  const lines: string[] = [];
  for (const line of output.split(/\r?\n/)) {
    const isData = dataLine.test(line);
    if (isData || (isContinuation && /^\s/.test(line))) {
      isContinuation = true;
      continue;
    }
    isContinuation = false;
    if (line.trim() !== "") lines.push(line.trimEnd());
  }
  let text = lines.join("\n");
  for (const secret of secrets) if (secret !== "") text = text.replaceAll(secret, "[hidden]");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  text = text.replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, "");
  return clipStart(text, bytesMax);
}

/** Keeps the end, where tools say what went wrong; never cuts a character in two. */
function clipStart(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= bytesMax) return text;
  let start = bytes.length - bytesMax + 3;
  while (start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return `…${bytes.subarray(start).toString()}`;
}

/** For the journal: short, on one line. */
export function journalText(text: string): string {
  const line = text.replace(/\s*\n\s*/g, "; ");
  const bytes = Buffer.from(line);
  if (bytes.length <= journalBytesMax) return line;
  let end = journalBytesMax - 3;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return `${bytes.subarray(0, end).toString()}…`;
}
