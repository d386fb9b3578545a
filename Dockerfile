# docker build -t oxbow . && docker run -p 127.0.0.1:8080:8080 -v $PWD/models:/models oxbow -m /models/FILE.gguf
# Without -m the bundled model is served.
FROM debian:bookworm-slim AS build
WORKDIR /src
COPY . .
RUN ./dev setup run && rm -rf /var/lib/apt/lists/* \
 && cmake --preset release -DOXBOW_TESTS=OFF -DOXBOW_SHARED=OFF \
 && cmake --build build/release --target oxbow \
 && install -D -s build/release/src/cli/oxbow /out/usr/bin/oxbow \
 && install -D -m 644 models/oxbow-mini.gguf /out/usr/share/oxbow/oxbow-mini.gguf

FROM debian:bookworm-slim
LABEL org.opencontainers.image.title="Oxbow" \
      org.opencontainers.image.description="Runs hybrid language models" \
      org.opencontainers.image.licenses="MIT"
RUN apt-get update -q \
 && apt-get install -qy --no-install-recommends curl libfmt9 libpcre2-8-0 libutf8proc2 libedit2 libzstd1 libxxhash0 libhiredis0.14 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --create-home --home-dir /var/lib/oxbow oxbow \
 && install -d -o oxbow -g oxbow /models /var/cache/oxbow
COPY --from=build /out/ /
USER oxbow
WORKDIR /var/lib/oxbow
ENV OXBOW_HOST=0.0.0.0 OXBOW_CACHE_DISK=/var/cache/oxbow
VOLUME ["/models", "/var/cache/oxbow"]
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=3s --start-period=10s CMD curl -fsS "http://127.0.0.1:${OXBOW_PORT:-8080}/health" || exit 1
ENTRYPOINT ["oxbow", "serve"]
