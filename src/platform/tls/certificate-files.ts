import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { createTlsError } from "./tls-errors.ts";

export interface CertificatePaths {
  readonly certFile: string;
  readonly keyFile: string;
  /** Authorities that client certificates must come from. */
  readonly caFile?: string | undefined;
}

/** PEM texts that were proven to work together. */
export interface CertificateSet {
  readonly cert: string;
  readonly key: string;
  readonly ca: string | undefined;
  /** For the log: who it is for and until when. */
  readonly subject: string;
  readonly validTo: string;
}

/** @throws DomainError TLS_CERTIFICATE_UNUSABLE that names the file */
export function readCertificates(paths: CertificatePaths): CertificateSet {
  const cert = readPem(paths.certFile, "certificate");
  const key = readPem(paths.keyFile, "private key");
  const ca = paths.caFile === undefined ? undefined : readPem(paths.caFile, "CA certificate");
  const leaf = parsePart(paths.certFile, "certificate", () => new X509Certificate(cert));
  if (ca !== undefined) parsePart(paths.caFile ?? "", "CA certificate", () => new X509Certificate(ca));
  const privateKey = parsePart(paths.keyFile, "private key", () => createPrivateKey(key));
  if (!leaf.checkPrivateKey(privateKey)) {
    throw createTlsError(
      "TLS_CERTIFICATE_UNUSABLE",
      `Cannot use the certificate "${paths.certFile}": the key "${paths.keyFile}" belongs to another certificate`,
    );
  }
  parsePart(paths.certFile, "certificate", () =>
    createSecureContext({ cert, key, ...(ca === undefined ? {} : { ca }) }),
  );
  return { cert, key, ca, subject: leaf.subject.replaceAll("\n", ", "), validTo: leaf.validTo };
}

/**
 * Changes whenever one of the files may have changed. `stat` follows links, so that the swap of a link to a folder, the
 * way mounted secrets are renewed, is seen like a write in place.
 */
export function fingerprintOf(paths: CertificatePaths): string {
  return [paths.certFile, paths.keyFile, paths.caFile]
    .filter((path) => path !== undefined)
    .map((path) => {
      const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
      return stat === undefined ? "absent" : `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}`;
    })
    .join("|");
}

function readPem(path: string, what: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? "unreadable";
    throw createTlsError("TLS_CERTIFICATE_UNUSABLE", `Cannot read the ${what} "${path}": ${reason}`, { cause: error });
  }
}

function parsePart<T>(path: string, what: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw createTlsError("TLS_CERTIFICATE_UNUSABLE", `Cannot use the ${what} "${path}": it is not valid PEM of one`, {
      cause: error,
    });
  }
}
