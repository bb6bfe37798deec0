//! What a command found, as an exit code that scripts can act on.

use std::process::ExitCode;

use partita::Error;

/// How a command went, from good to bad; of several files the worst counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Exit code 0: all was looked at and is sound.
    #[default]
    Clean,
    /// Exit code 1: what was asked for is not there.
    Absent,
    /// Exit code 2: something could not be looked at; what was looked at is sound.
    Unseen,
    /// Exit code 1: damage was found, or something that the doctor warns of.
    Damage,
}

impl Outcome {
    /// What it means that a file could not be read to its end because of `error`.
    pub(crate) fn of_error(error: &Error) -> Self {
        if error.is_corruption() { Self::Damage } else { Self::Unseen }
    }

    /// Takes the worse of the two.
    pub(crate) fn merge(&mut self, other: Self) {
        *self = (*self).max(other);
    }

    pub(crate) fn exit_code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Clean => 0,
            Self::Absent | Self::Damage => 1,
            Self::Unseen => 2,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_outweighs_what_could_not_be_looked_at() {
        let mut outcome = Outcome::Clean;
        outcome.merge(Outcome::of_error(&Error::corruption("x")));
        outcome.merge(Outcome::of_error(&Error::not_supported("x")));
        assert_eq!(outcome, Outcome::Damage);
        assert_eq!(Outcome::of_error(&Error::invalid_argument("x")), Outcome::Unseen);
    }
}
