import { chantierYmlPages } from './pages/chantier-yml.ts';
import { cliPage } from './pages/cli.ts';
import { decisionsPage } from './pages/decisions.ts';
import { eventsPage } from './pages/events.ts';
import { httpPages } from './pages/http.ts';
import { licencesPage } from './pages/licences.ts';
import { mcpToolsPage } from './pages/mcp-tools.ts';
import type { Page } from './pages/page.ts';
import { refusalsPage } from './pages/refusals.ts';
import { settingsPage } from './pages/settings.ts';
import { statePages } from './pages/states.ts';

/** Every page that is made from the program or the installed packages; `npm run docs` writes them, a test compares them. */
export async function generatedPages(): Promise<readonly Page[]> {
  return [
    await cliPage(),
    settingsPage(),
    ...httpPages(),
    eventsPage(),
    decisionsPage(),
    refusalsPage(),
    mcpToolsPage(),
    ...chantierYmlPages(),
    ...statePages(),
    licencesPage(),
  ];
}
