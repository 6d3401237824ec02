import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

import { type Browser, chromium } from 'playwright-core';

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Chromium of this machine; apt is tried where the suite may install (design section 10). */
export function findChromium(): string | undefined {
  const mayInstall = process.env.CI === 'true' || process.env.CHANTIER_TEST_INSTALL === '1';
  if (!places.some(existsSync) && mayInstall) {
    for (const args of [['update'], ['install', '-y', '--no-install-recommends', 'chromium']])
      spawnSync('apt-get', args, { stdio: 'ignore', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } });
  }
  return places.find(existsSync);
}

/** Starts it headless, with `home` as its home; root has to give up its sandbox. */
export function openBrowser(executablePath: string, home: string): Promise<Browser> {
  const args = ['--disable-dev-shm-usage', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])];
  return chromium.launch({ executablePath, args, env: { PATH: process.env.PATH ?? '', HOME: home, LANG: 'C.UTF-8' } });
}
