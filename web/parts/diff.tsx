import type { DiffView } from '../../src/wire/index.ts';

/** A change, file by file; every file can be folded, what is always a human's is marked. */
export function Diff({ diff }: { diff: DiffView }) {
  return (
    <div className="diff">
      {diff.isTruncated && (
        <p className="warning">The change is too large to show whole; some files show their names only.</p>
      )}
      {diff.files.map((file) => (
        <details key={file.path} open={diff.files.length <= 8}>
          <summary>
            <code>{file.oldPath && file.oldPath !== file.path ? `${file.oldPath} → ${file.path}` : file.path}</code>
            <span className="counts">
              <span className="added">+{file.added ?? '?'}</span>{' '}
              <span className="removed">−{file.removed ?? '?'}</span> {file.status}
            </span>
            {file.humanOnly && <span className="tag warn">{file.humanOnly}</span>}
          </summary>
          {file.patch === null ? (
            <p className="muted">{file.isBinary ? 'Binary file.' : 'Left out: too large to show.'}</p>
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
      {text.split('\n').map((line, index) => (
        <span key={index} className={classOf(line)}>
          {line}
          {'\n'}
        </span>
      ))}
    </pre>
  );
}

function classOf(line: string): string {
  if (line.startsWith('@@')) return 'hunk';
  if (line.startsWith('+++') || line.startsWith('---') || line.startsWith('diff ') || line.startsWith('index '))
    return 'head';
  if (line.startsWith('+')) return 'added';
  if (line.startsWith('-')) return 'removed';
  return '';
}
