mod bands;
mod figures;
mod sameness;
mod shape;
