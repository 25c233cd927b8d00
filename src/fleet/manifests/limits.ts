/** Bounds of a manifest stream. They hold before anything is built from a document. */
export const maxDocumentSizeBytes = 4 * 1024 * 1024;
export const maxDocumentsPerStream = 20_000;
/** Units of the node budget: a YAML node 1, a sequence entry 4 more, an alias what it names. */
export const maxNodeUnits = 400_000;
export const maxNestingDepth = 200;
/** Line ends and comments of a document that takes the general parser. */
export const maxLayoutTokens = 400_000;
/** Texts about the input that are kept; the rest is counted. */
export const maxReaderWarnings = 100;
