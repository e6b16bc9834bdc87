//! Enums whose variants have names.

/// Declares an enum whose variants have names, each after its variant. `ALL` has the variants in order, `name` returns
/// the name of one, which is also its text form.
macro_rules! named {
    (
        $(#[$meta:meta])*
        $vis:vis enum $type:ident {
            $($(#[$of_variant:meta])* $variant:ident = $name:literal,)+
        }
    ) => {
        $(#[$meta])*
        $vis enum $type {
            $($(#[$of_variant])* $variant,)+
        }

        impl $type {
            /// All of them, in order.
            $vis const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Returns the name.
            #[must_use]
            $vis const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

pub(crate) use named;
