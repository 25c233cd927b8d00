/** Where manifests come from: folders, files, standard input, a commit. */
export interface ManifestStream {
  /** Path as findings show it, with `/` between its parts. */
  readonly file: string;
  /** Hands over the bytes in order; a chunk stays untouched until the next one has been handed over. */
  read(onChunk: (chunk: Uint8Array) => void): Promise<void> | void;
}

export interface ManifestSource {
  /**
   * Streams in the order of their names.
   * @throws DomainError scan_input_invalid, baseline_unreadable
   */
  list(): Promise<readonly ManifestStream[]>;
}
