# ssdlab without a build environment: docker build -t ssdlab . && docker run --rm -v "$PWD:/data" ssdlab run --device tlc
FROM rust:1.95-slim-trixie AS build
RUN apt-get update && apt-get install -y --no-install-recommends python3-venv make gcc && rm -rf /var/lib/apt/lists/*
COPY . /ssdlab
WORKDIR /ssdlab
RUN python3 -m venv /maturin && /maturin/bin/pip install --quiet 'maturin>=1.9.4,<2' \
    && RUSTFLAGS="$(python3 crates/python/pgo.py flags)" /maturin/bin/maturin build --release --out /wheels

FROM python:3.13-slim-trixie
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(echo /wheels/*.whl)[plot,report]" && rm -r /wheels
WORKDIR /data
ENTRYPOINT ["ssdlab"]
