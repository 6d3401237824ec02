import { z } from 'zod';

import { ok } from '../../kernel/index.ts';
import {
  auditExportQuery,
  auditVerdict,
  backupRequest,
  backupView,
  doctorReport,
  downRequest,
  downView,
  initRequest,
  initView,
  queryFlag,
  recapQuery,
  recapView,
  settingChange,
  settingView,
} from '../../wire/index.ts';
import type { ApiParts } from '../parts.ts';
import { addRoute, type Api } from '../route.ts';
import { streamLines } from '../stream-lines.ts';

/** Set-up, settings, doctor, audit, backup, the end of the server. */
export function addInstanceRoutes(api: Api, parts: ApiParts): void {
  const { instance } = parts.app;
  addRoute(
    api,
    parts,
    'PUT /api/instance/setup',
    { summary: 'Settings and agents of the first run', body: initRequest, answer: initView },
    ({ caller, body }) => instance.init(caller, body),
  );
  addRoute(
    api,
    parts,
    'PUT /api/instance/shutdown',
    { summary: 'End the server; agents go on unless told otherwise', body: downRequest, answer: downView },
    async ({ caller, body }) => {
      const result = await instance.prepareDown(caller, body);
      if (result.ok) setImmediate(parts.onShutdown);
      return result;
    },
  );
  addRoute(api, parts, 'GET /api/settings', { summary: 'List settings', answer: z.array(settingView) }, ({ caller }) =>
    instance.listSettings(caller),
  );
  addRoute(
    api,
    parts,
    'PUT /api/settings/{setting}',
    {
      summary: 'Change a setting',
      params: z.object({ setting: z.string().max(64) }),
      body: settingChange,
      answer: settingView,
    },
    (input) => instance.changeSetting(input.caller, input.params.setting, input.body.value),
  );
  addRoute(
    api,
    parts,
    'GET /api/recap',
    { summary: 'What happened since: landed, waiting, failed, cost', query: recapQuery, answer: recapView },
    ({ caller, query }) => instance.recap(caller, query.since),
  );
  addRoute(
    api,
    parts,
    'GET /api/doctor',
    { summary: 'Check the instance', query: z.object({ deep: queryFlag }), answer: doctorReport },
    ({ caller, query }) => instance.doctor(caller, { deep: query.deep ?? false }),
  );
  addRoute(
    api,
    parts,
    'GET /api/audit/verification',
    { summary: 'Verify the chain of events', answer: auditVerdict },
    ({ caller }) => instance.verifyAudit(caller),
  );
  addRoute(
    api,
    parts,
    'GET /api/audit/export',
    {
      summary: 'Export events, one JSON document a line',
      query: auditExportQuery,
      mediaType: 'application/x-ndjson',
    },
    async ({ caller, query }) => streamLines(instance.exportAudit(caller, query), 'application/x-ndjson'),
  );
  addRoute(
    api,
    parts,
    'POST /api/backups',
    { summary: 'Write a backup', body: backupRequest, answer: backupView, status: 201 },
    ({ caller, body }) => instance.backup(caller, body),
  );
}

/** Liveness, readiness, figures. */
export function addHealthRoutes(api: Api, parts: ApiParts): void {
  const { instance } = parts.app;
  const health = z.object({ status: z.string() });
  addRoute(api, parts, 'GET /healthz', { summary: 'Whether the process answers', answer: health }, async () =>
    ok({ status: 'ok' }),
  );
  addRoute(api, parts, 'GET /readyz', { summary: 'Whether the store can be used', answer: health }, async () => {
    await instance.checkReady();
    return ok({ status: 'ready' });
  });
  addRoute(api, parts, 'GET /metrics', { summary: 'Figures as Prometheus text', mediaType: 'text/plain' }, async () => {
    const gauges = await instance.metrics();
    return new Response(prometheusText([...gauges, ...processGauges()]), {
      headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
    });
  });
}

type Gauge = Awaited<ReturnType<ApiParts['app']['instance']['metrics']>>[number];

function processGauges(): Gauge[] {
  const cpu = process.cpuUsage();
  return [
    {
      name: 'process_resident_memory_bytes',
      help: 'Resident memory.',
      samples: [{ value: process.memoryUsage.rss() }],
    },
    { name: 'process_cpu_seconds_total', help: 'CPU time used.', samples: [{ value: (cpu.user + cpu.system) / 1e6 }] },
    { name: 'process_uptime_seconds', help: 'Time since the start.', samples: [{ value: process.uptime() }] },
  ];
}

function prometheusText(gauges: readonly Gauge[]): string {
  const lines = gauges.flatMap(({ name, help, samples }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${name.endsWith('_total') ? 'counter' : 'gauge'}`,
    ...samples.map(({ labels, value }) => `${name}${labelText(labels)} ${value}`),
  ]);
  return `${lines.join('\n')}\n`;
}

function labelText(labels: Record<string, string> | undefined): string {
  if (!labels) return '';
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return `{${pairs.join(',')}}`;
}
