import { z } from 'zod';

import {
  anyId,
  capabilityDetail,
  capabilityQuery,
  capabilityVerdict,
  capabilityView,
  decisionQuery,
  decisionView,
  pageOf,
  settledView,
  verdictRequest,
} from '../../wire/index.ts';
import type { ApiParts } from '../parts.ts';
import { addRoute, type Api } from '../route.ts';

/** Decisions of every kind, and capabilities. */
export function addDecisionRoutes(api: Api, parts: ApiParts): void {
  const { decisions, gate } = parts.app;
  const decision = z.object({ decision: z.string().min(1).max(400) });
  addRoute(
    api,
    parts,
    'GET /api/decisions',
    { summary: 'List decisions', query: decisionQuery, answer: pageOf(decisionView) },
    ({ caller, query }) => decisions.list(caller, query),
  );
  addRoute(
    api,
    parts,
    'GET /api/decisions/{decision}',
    { summary: 'Show a decision', params: decision, answer: decisionView },
    (input) => decisions.show(input.caller, input.params.decision),
  );
  addRoute(
    api,
    parts,
    'PUT /api/decisions/{decision}/verdict',
    { summary: 'Decide', params: decision, body: verdictRequest, answer: settledView },
    (input) => decisions.settle(input.caller, input.params.decision, input.body),
  );

  const capability = z.object({ capability: anyId });
  addRoute(
    api,
    parts,
    'GET /api/capabilities',
    { summary: 'List capabilities', query: capabilityQuery, answer: pageOf(capabilityView) },
    ({ caller, query }) => gate.listCapabilities(caller, query),
  );
  addRoute(
    api,
    parts,
    'GET /api/capabilities/{capability}',
    { summary: 'Show a capability', params: capability, answer: capabilityDetail },
    (input) => gate.showCapability(input.caller, input.params.capability),
  );
  addRoute(
    api,
    parts,
    'PUT /api/capabilities/{capability}/decision',
    {
      summary: 'Approve or refuse a capability for good (G-19)',
      params: capability,
      body: capabilityVerdict,
      answer: capabilityView,
    },
    (input) => gate.decideCapability(input.caller, input.params.capability, input.body),
  );
}
