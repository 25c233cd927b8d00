# The executable and the C libraries it is linked to, nothing else: no shell, no package manager, not root.
# Build the executable first: npm run build
FROM gcr.io/distroless/cc-debian12:nonroot
COPY --chown=0:0 --chmod=0755 dist/slipway /slipway
USER 65532:65532
WORKDIR /home/nonroot
EXPOSE 8080 9000
STOPSIGNAL SIGTERM
ENTRYPOINT ["/slipway"]
