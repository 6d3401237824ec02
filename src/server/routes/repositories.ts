import { z } from 'zod';

import {
  detectionView,
  detectRequest,
  pageOf,
  registerRequest,
  repositoryQuery,
  repositoryView,
  trustRequest,
} from '../../wire/index.ts';
import type { ApiParts } from '../parts.ts';
import { addRoute, type Api } from '../route.ts';

/** Checkouts of the operator: detected, registered, trusted. */
export function addRepositoryRoutes(api: Api, parts: ApiParts): void {
  const { repositories } = parts.app;
  const params = z.object({ repository: z.string().min(1).max(4096) });
  addRoute(
    api,
    parts,
    'POST /api/detections',
    { summary: 'Look at a checkout; writes nothing', body: detectRequest, answer: detectionView },
    ({ caller, body }) => repositories.detect(caller, body),
  );
  addRoute(
    api,
    parts,
    'GET /api/repositories',
    { summary: 'List repositories', query: repositoryQuery, answer: pageOf(repositoryView) },
    ({ caller, query }) => repositories.list(caller, query),
  );
  addRoute(
    api,
    parts,
    'POST /api/repositories',
    { summary: 'Register a checkout', body: registerRequest, answer: repositoryView, status: 201 },
    ({ caller, body }) => repositories.register(caller, body),
  );
  addRoute(
    api,
    parts,
    'GET /api/repositories/{repository}',
    { summary: 'Show a repository', params, answer: repositoryView },
    (input) => repositories.show(input.caller, input.params.repository),
  );
  addRoute(
    api,
    parts,
    'PUT /api/repositories/{repository}/trust',
    { summary: 'Trust the configuration of a repository', params, body: trustRequest, answer: repositoryView },
    (input) => repositories.trust(input.caller, input.params.repository, input.body),
  );
}
