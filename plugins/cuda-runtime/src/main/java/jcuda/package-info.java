/** JCuda's package, with {@link jcuda.LibUtilsCuda} in place of JCuda's class of that name. */
package jcuda;
