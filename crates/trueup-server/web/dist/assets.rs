// Made by `npm run build` in `crates/trueup-server/web`.
[
    ("main-DEM47V4H.css", include_bytes!("main-DEM47V4H.css")),
    ("main-VLZPW6AS.js", include_bytes!("main-VLZPW6AS.js")),
]
