import { useEffect } from 'preact/hooks';
import { printable } from '../printable.ts';
import { setState, useStore } from '../store.ts';
import { words } from '../words.ts';
import { IconButton } from './Icon.tsx';

const kShownMs = 8_000;

export function NoticeBar() {
  const notice = useStore((state) => state.notice);
  const close = () => setState({ notice: null });
  useEffect(() => {
    const timer = setTimeout(close, kShownMs);
    return () => clearTimeout(timer);
  }, [notice]);
  const act = () => {
    notice?.action?.run();
    close();
  };
  return (
    <div class="notice-area" role="status">
      {notice && (
        <div class="notice">
          <span>{printable(notice.text)}</span>
          {notice.action && <button type="button" onClick={act}>{notice.action.label}</button>}
          <IconButton icon="close" label={words.header.dismiss} onClick={close} />
        </div>
      )}
    </div>
  );
}
