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

/** Names of a list setting such as `shared_preload_libraries`: parted by commas, in double quotes where needed. */
export function parseNameList(text: string): readonly string[] {
  return [...text.matchAll(/"((?:[^"]|"")+)"|([^,"\s]+)/g)].map(
    (match) => match[1]?.replaceAll('""', '"') ?? match[2] ?? "",
  );
}
