/** Names and values from outside never enter SQL or shell except through these. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Safe whatever `standard_conforming_strings` says. */
export function quoteLiteral(value: string): string {
  const escaped = value.replaceAll("'", "''").replaceAll("\\", "\\\\");
  return value.includes("\\") ? ` E'${escaped}'` : `'${escaped}'`;
}

export function quoteShell(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
