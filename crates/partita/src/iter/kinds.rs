/// Makes an enum of walks a walk: each call goes to the walk that it is.
macro_rules! walk_of_kinds {
    ($walk:ident { $($kind:ident),+ $(,)? }) => {
        impl $crate::iter::InternalIterator for $walk {
            #[inline]
            fn is_valid(&self) -> bool {
                match self { $(Self::$kind(walk) => $crate::iter::InternalIterator::is_valid(walk),)+ }
            }

            fn seek_to_first(&mut self) -> $crate::error::Result<()> {
                match self { $(Self::$kind(walk) => $crate::iter::InternalIterator::seek_to_first(walk),)+ }
            }

            fn seek_to_last(&mut self) -> $crate::error::Result<()> {
                match self { $(Self::$kind(walk) => $crate::iter::InternalIterator::seek_to_last(walk),)+ }
            }

            fn seek(&mut self, target: &[u8]) -> $crate::error::Result<()> {
                match self { $(Self::$kind(walk) => $crate::iter::InternalIterator::seek(walk, target),)+ }
            }

            fn seek_for_prev(&mut self, target: &[u8]) -> $crate::error::Result<()> {
                match self { $(Self::$kind(walk) => $crate::iter::InternalIterator::seek_for_prev(walk, target),)+ }
            }

            #[inline]
            fn next(&mut self) -> $crate::error::Result<()> {
                match self { $(Self::$kind(walk) => $crate::iter::InternalIterator::next(walk),)+ }
            }

            #[inline]
            fn prev(&mut self) -> $crate::error::Result<()> {
                match self { $(Self::$kind(walk) => $crate::iter::InternalIterator::prev(walk),)+ }
            }

            #[inline]
            fn key(&self) -> &[u8] {
                match self { $(Self::$kind(walk) => $crate::iter::InternalIterator::key(walk),)+ }
            }

            #[inline]
            fn value(&self) -> &[u8] {
                match self { $(Self::$kind(walk) => $crate::iter::InternalIterator::value(walk),)+ }
            }
        }
    };
}

pub(crate) use walk_of_kinds;
