import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The console: built into `dist/web`, served by the server under its own strict CSP (no inline script or style). */
export default defineConfig({
  root: 'web',
  plugins: [react()],
  build: { outDir: '../dist/web', emptyOutDir: true, assetsInlineLimit: 0, modulePreload: { polyfill: false } },
});
