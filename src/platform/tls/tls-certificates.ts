import type { SecureVersion, TLSSocket, TlsOptions, Server as TlsServer } from "node:tls";
import type { Logger } from "../log/logger.ts";
import { systemTimers, type TimerHandle, type Timers } from "../time/clock.ts";
import { type CertificatePaths, type CertificateSet, fingerprintOf, readCertificates } from "./certificate-files.ts";

/**
 * Certificates of one or more TLS servers, renewed in place. The files are looked at on a timer rather than watched:
 * that sees link swaps, bind mounts and network file systems alike. A set that does not work (a key that does not
 * belong, half a file) is reported once and the one in use is kept; new connections get the new set, open ones stay.
 */
export const clientAuthModes = ["none", "request", "require", "verify", "require-verify"] as const;
/**
 * `request`: asked for, any or none is fine. `require`: one must be shown, unchecked. `verify`: checked if shown.
 * `require-verify`: must be shown and signed by the CA.
 */
export type ClientAuthMode = (typeof clientAuthModes)[number];

export const tlsVersions = ["1.2", "1.3"] as const;
export type TlsVersion = (typeof tlsVersions)[number];

export interface TlsCertificatesOptions extends CertificatePaths {
  readonly clientAuth?: ClientAuthMode;
  readonly minVersion?: TlsVersion;
  readonly logger: Logger;
  readonly timers?: Timers;
  readonly pollIntervalMs?: number;
}

/** What `createServer` of node:tls and node:https, and `setSecureContext`, take. */
export interface TlsServerOptions extends TlsOptions {
  readonly cert: string;
  readonly key: string;
  readonly minVersion: SecureVersion;
  readonly requestCert: boolean;
  readonly rejectUnauthorized: boolean;
}

export const defaultTlsPollIntervalMs = 2000;

export class TlsCertificates implements Disposable {
  readonly #options: TlsCertificatesOptions;
  readonly #listeners = new Set<(options: TlsServerOptions) => void>();
  readonly #timer: TimerHandle;
  #current: CertificateSet;
  #fingerprint: string;

  private constructor(options: TlsCertificatesOptions) {
    this.#options = options;
    this.#fingerprint = fingerprintOf(options);
    this.#current = readCertificates(options);
    const timers = options.timers ?? systemTimers;
    const intervalMs = options.pollIntervalMs ?? defaultTlsPollIntervalMs;
    this.#timer = timers.every(intervalMs, () => this.reload(), { isBackground: true });
  }

  /** @throws DomainError TLS_CERTIFICATE_UNUSABLE: a server does not start with certificates that do not work */
  static load(options: TlsCertificatesOptions): TlsCertificates {
    return new TlsCertificates(options);
  }

  get clientAuth(): ClientAuthMode {
    return this.#options.clientAuth ?? "none";
  }

  serverOptions(): TlsServerOptions {
    const mode = this.clientAuth;
    return {
      cert: this.#current.cert,
      key: this.#current.key,
      ...(this.#current.ca === undefined ? {} : { ca: this.#current.ca }),
      minVersion: this.#options.minVersion === "1.3" ? "TLSv1.3" : "TLSv1.2",
      requestCert: mode !== "none",
      rejectUnauthorized: mode === "require-verify",
    };
  }

  /** Keeps a TLS server up to date and applies the client-certificate modes that Node itself does not have. */
  attach(server: TlsServer): void {
    server.on("secureConnection", (socket) => {
      if (!isClientAccepted(socket, this.clientAuth)) socket.destroy();
    });
    const stop = this.onChange((options) => server.setSecureContext(options));
    server.once("close", stop);
  }

  /** Calls back with each new working set; returns the function that stops it. */
  onChange(listener: (options: TlsServerOptions) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Looks at the files now; true when a new set is in use. Called by the timer. */
  reload(): boolean {
    const fingerprint = fingerprintOf(this.#options);
    if (fingerprint === this.#fingerprint) return false;
    this.#fingerprint = fingerprint;
    const { certFile, logger } = this.#options;
    try {
      this.#current = readCertificates(this.#options);
    } catch (error) {
      logger.error({ err: error, certFile }, "new TLS certificate is unusable: the one in use is kept");
      return false;
    }
    const { subject, validTo } = this.#current;
    for (const listener of this.#listeners) listener(this.serverOptions());
    logger.info({ certFile, subject, validTo }, "TLS certificate reloaded");
    return true;
  }

  [Symbol.dispose](): void {
    this.#timer.cancel();
    this.#listeners.clear();
  }
}

/** For sockets of a TLS server that is not attached, such as an upgraded plain connection. */
export function isClientAccepted(socket: TLSSocket, mode: ClientAuthMode): boolean {
  if (mode === "none" || mode === "request" || mode === "require-verify") return true;
  const isShown = Object.keys(socket.getPeerCertificate()).length > 0;
  return mode === "require" ? isShown : !isShown || socket.authorized;
}
