import type { DiffView } from '../../src/wire/index.ts';

/** A change, file by file; every file can be folded, what is always a human's is marked. */
export function Diff({ diff }: { diff: DiffView }) {
  return (
    <div className="diff">
      {diff.isTruncated && (
        <p className="warning" role="status">
          {diff.reason}
        </p>
      )}
      {diff.files.map((file) => (
        <details key={file.path} open={diff.files.length <= 8 || file.notShown !== null}>
          <summary>
            <code>{file.oldPath && file.oldPath !== file.path ? `${file.oldPath} → ${file.path}` : file.path}</code>
            <span className="counts">
              <span className="added">+{file.added ?? '?'}</span>{' '}
              <span className="removed">−{file.removed ?? '?'}</span> {file.status}
            </span>
            {file.humanOnly && <span className="tag warn">{file.humanOnly}</span>}
            {file.notShown && <span className="tag warn">not shown</span>}
          </summary>
          {file.patch === null ? (
            <p className="muted">{file.notShown ? `Not shown: ${file.notShown}.` : 'Binary file.'}</p>
          ) : (
            <Patch text={file.patch} />
          )}
        </details>
      ))}
    </div>
  );
}

function Patch({ text }: { text: string }) {
  return (
    <pre className="patch" tabIndex={0} aria-label="patch">
      {classesOf(text.split('\n')).map(([line, className], index) => (
        <span key={index} className={className}>
          {line}
          {'\n'}
        </span>
      ))}
    </pre>
  );
}

/** Lines with what they are. Inside a hunk only the first character counts: an added line that begins with `++` is an added line. */
function classesOf(lines: readonly string[]): [line: string, className: string][] {
  let isHead = true;
  return lines.map((line) => {
    if (line.startsWith('diff ')) isHead = true;
    if (line.startsWith('@@')) {
      isHead = false;
      return [line, 'hunk'];
    }
    if (isHead) return [line, 'head'];
    return [line, line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : ''];
  });
}
