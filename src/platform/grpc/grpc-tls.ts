import { Buffer } from "node:buffer";
import { X509Certificate } from "node:crypto";
import type { ServerHttp2Stream } from "node:http2";
import { TLSSocket } from "node:tls";
import {
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptor,
  ServerListenerBuilder,
} from "@grpc/grpc-js";
import type { CallContext } from "nice-grpc-common";
import { statusByKind } from "../errors/status-map.ts";
import { randomBase62, systemRandom } from "../random/random.ts";
import { type ClientAuthMode, isClientAccepted, type TlsCertificates } from "../tls/tls-certificates.ts";

/**
 * Our certificates on a grpc-js server: credentials that follow each reload, the client-certificate modes that TLS in
 * Node does not have by itself, and the verified certificate of a caller for authentication. That travels to the
 * handlers as metadata under a name drawn at start, which no client can know and so none can forge.
 */
export class ReloadingCredentials extends ServerCredentials {
  readonly #stop: () => void;

  constructor(certificates: TlsCertificates) {
    const { requestCert, rejectUnauthorized, ...context } = certificates.serverOptions();
    super({ requestCert, rejectUnauthorized }, context);
    this.#stop = certificates.onChange(({ cert, key, ca, minVersion }) =>
      this.updateSecureContextOptions({ cert, key, minVersion, ...(ca === undefined ? {} : { ca }) }),
    );
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }

  close(): void {
    this.#stop();
  }
}

export class PeerCertificates {
  readonly #metadataKey = `x-peer-${randomBase62(systemRandom, 22).toLowerCase()}-bin`;

  /** The caller's certificate when it was verified against the CA. */
  find(context: CallContext): X509Certificate | undefined {
    const bytes = context.metadata.get(this.#metadataKey);
    return bytes === undefined ? undefined : new X509Certificate(bytes);
  }

  createInterceptor(mode: ClientAuthMode): ServerInterceptor {
    return (_method, call) => {
      const socket = socketOf(call);
      if (socket === undefined || !isClientAccepted(socket, mode)) {
        const start = (): void => call.sendStatus({ code: statusByKind.unauthenticated.grpc, details: refusal });
        return new ServerInterceptingCall(call, { start });
      }
      const certificate = call.getAuthContext().sslPeerCertificate;
      if (certificate === undefined) return new ServerInterceptingCall(call);
      const listener = new ServerListenerBuilder()
        .withOnReceiveMetadata((metadata, next) => {
          metadata.set(this.#metadataKey, Buffer.from(certificate.raw));
          next(metadata);
        })
        .build();
      return new ServerInterceptingCall(call, { start: (next) => next(listener) });
    };
  }
}

const refusal = "a client certificate that this server accepts is needed";

/** The library offers no way to the connection of a call; without one the caller counts as not verified. */
function socketOf(call: unknown): TLSSocket | undefined {
  const { stream } = call as { stream?: ServerHttp2Stream };
  const socket = stream?.session?.socket;
  return socket instanceof TLSSocket ? socket : undefined;
}
