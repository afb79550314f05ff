# syntax=docker/dockerfile:1
# By tag, because a digest must be looked up where the image is built: docker build --build-arg PYTHON_IMAGE=python@sha256:...
ARG PYTHON_IMAGE=python:3.11-slim-bookworm
FROM ${PYTHON_IMAGE} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /build
COPY requirements.lock ./
RUN python3 -m venv /opt/venv \
 && /opt/venv/bin/pip install --require-hashes --only-binary=:all: -r requirements.lock
# What no running server reads: the packages' own tests, headers, notebook extensions, Arrow's remote calls, pip itself.
# Decision 0031 has the figures.
COPY deploy/slim.sh ./
RUN sh slim.sh /opt/venv

FROM ${PYTHON_IMAGE}
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp PMT_DATA_DIR=/data PMT_LEDGER=/data/ledger.db
RUN groupadd --gid 10001 app \
 && useradd --uid 10001 --gid app --no-create-home --shell /usr/sbin/nologin app \
 && install -d -o app -g app -m 0700 /data
WORKDIR /app
COPY --from=build /opt/venv /opt/venv
COPY .streamlit/ .streamlit/
COPY assets/ assets/
COPY docs/proofs/ docs/proofs/
COPY pmtcore/ pmtcore/
COPY pages/ pages/
COPY app.py ./
USER 10001:10001
VOLUME ["/data"]
EXPOSE 8501
STOPSIGNAL SIGTERM
# Streamlit answers every unknown path with 200 and a page, so the body is compared, not the status.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import urllib.request as u,sys; sys.exit(u.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4).read() != b'ok')"]
ENTRYPOINT ["streamlit", "run", "app.py"]
CMD ["--server.port=8501", "--server.address=0.0.0.0", "--server.headless=true"]
