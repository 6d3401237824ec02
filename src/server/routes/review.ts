import { z } from 'zod';

import {
  anyId,
  diffView,
  humanAct,
  landingView,
  landRequest,
  pageOf,
  pageQuery,
  pullRequestQuery,
  pullRequestView,
  revertRequest,
} from '../../wire/index.ts';
import type { ApiParts } from '../parts.ts';
import { addRoute, type Api } from '../route.ts';

/** Pull requests, landings, reverts. */
export function addReviewRoutes(api: Api, parts: ApiParts): void {
  const { review } = parts.app;
  const params = z.object({ pullRequest: anyId });
  addRoute(
    api,
    parts,
    'GET /api/pull-requests',
    { summary: 'List pull requests', query: pullRequestQuery, answer: pageOf(pullRequestView) },
    ({ caller, query }) => review.listPullRequests(caller, query),
  );
  addRoute(
    api,
    parts,
    'GET /api/pull-requests/{pullRequest}',
    { summary: 'Show a pull request', params, answer: pullRequestView },
    (input) => review.showPullRequest(input.caller, input.params.pullRequest),
  );
  addRoute(
    api,
    parts,
    'GET /api/pull-requests/{pullRequest}/diff',
    { summary: 'The diff of a pull request', params, answer: diffView },
    (input) => review.diff(input.caller, input.params.pullRequest),
  );
  addRoute(
    api,
    parts,
    'PUT /api/pull-requests/{pullRequest}/human-review',
    {
      summary: 'Approve, retry or abandon a change that waits for a human',
      params,
      body: humanAct,
      answer: pullRequestView,
    },
    (input) => review.humanAct(input.caller, input.params.pullRequest, input.body),
  );
  addRoute(
    api,
    parts,
    'POST /api/pull-requests/{pullRequest}/landings',
    { summary: 'Land a reviewed change', params, body: landRequest, answer: landingView, status: 201 },
    (input) => review.land(input.caller, input.params.pullRequest, input.body),
  );
  addRoute(
    api,
    parts,
    'GET /api/landings',
    { summary: 'List landings', query: pageQuery, answer: pageOf(landingView) },
    ({ caller, query }) => review.listLandings(caller, query),
  );
  const landing = z.object({ landing: anyId });
  addRoute(
    api,
    parts,
    'GET /api/landings/{landing}',
    { summary: 'Show a landing', params: landing, answer: landingView },
    (input) => review.showLanding(input.caller, input.params.landing),
  );
  addRoute(
    api,
    parts,
    'POST /api/landings/{landing}/reverts',
    { summary: 'Open a reviewed revert', params: landing, body: revertRequest, answer: pullRequestView, status: 201 },
    (input) => review.revert(input.caller, input.params.landing, input.body),
  );
}
