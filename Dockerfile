# One image for both programs: docker build -t hostpulse . ; docker run hostpulse hostpulse-detector --help
FROM python:3.13-slim-bookworm AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY catalog catalog
COPY exporter exporter
COPY detector detector
COPY deploy/prometheus/rules deploy/prometheus/rules
RUN python -m venv /opt/hostpulse && /opt/hostpulse/bin/pip install --no-cache-dir --disable-pip-version-check .

FROM python:3.13-slim-bookworm
LABEL org.opencontainers.image.title=hostpulse org.opencontainers.image.licenses=Apache-2.0
COPY --from=build /opt/hostpulse /opt/hostpulse
ENV PATH=/opt/hostpulse/bin:$PATH PYTHONUNBUFFERED=1
RUN install --directory --owner=65532 --group=65532 /var/lib/hostpulse
USER 65532:65532
WORKDIR /var/lib/hostpulse
EXPOSE 17720 17721
CMD ["hostpulse-exporter", "--web.listen-address=0.0.0.0:17720"]
