import type { Plugin } from 'rolldown';

const builtinImport = /^import (?:([\w$]+)(?:, )?)?(?:\* as ([\w$]+))?(?:\{([^}]*)\})? from "(node:[\w/]+)";$/gm;

/**
 * Takes Node's own modules with `process.getBuiltinModule` instead of `import`. An import evaluates every export, which loads
 * worker threads, readline, file streams and more: a third of what a verb of the CLI would cost.
 */
export const takeBuiltins: Plugin = {
  name: 'take-builtins',
  renderChunk(code) {
    return code.replaceAll(builtinImport, (_line, whole: string, all: string, some: string, name: string) => {
      const module = `globalThis.process.getBuiltinModule("${name}")`;
      const names = [whole, all].filter(Boolean).map((binding) => `const ${binding} = ${module};`);
      if (some) names.push(`const {${some.replaceAll(' as ', ': ')}} = ${module};`);
      return names.join(' ');
    });
  },
};
